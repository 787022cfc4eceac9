/** Pages of the console in a real Chromium, with everything that must not happen there on record. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { beginSession } from '../../src/access/people/index.ts';
import type { TestGateway } from './gateway.ts';

/** Longer than any page needs on a busy machine. */
const PAGE_MS = 60_000;

export interface WatchedPage {
  readonly page: Page;
  /**
   * Dialogs of scripts, exceptions, violations of the content security policy, and other errors in the log of the
   * browser.
   */
  readonly faults: string[];
}

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(PAGE_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`log: ${message.text()}`);
  });
  return { page, faults };
}

/** Signs the person in without a password, which takes a moment to hash. */
export async function signInAs(
  context: BrowserContext,
  { context: app, url }: TestGateway,
  person: string,
): Promise<void> {
  const { db } = app.database;
  const row = await db.selectFrom('people').selectAll().where('id', '=', person).executeTakeFirstOrThrow();
  const { token } = await beginSession(db, row, Date.now());
  await context.addCookies([{ name: 'dragoman_session', value: token, url, httpOnly: true, sameSite: 'Lax' }]);
}

/** Waits until the page has a title and everything on it is loaded. */
export async function untilLoaded(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
}
