/** What axe finds on a page of the console: serious and critical obstacles for readers, light and dark. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const AXE = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** Of the whole page, or of one element. Only the contrast depends on the theme. */
export async function obstaclesOf(page: Page, selector = 'html'): Promise<string[]> {
  await page.evaluate(AXE);
  const run = async (theme: 'light' | 'dark', options: object): Promise<string[]> => {
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
    const violations = await page.evaluate<Violation[]>(
      `axe.run('${selector}', ${JSON.stringify({ resultTypes: ['violations'], ...options })}).then(({ violations }) => violations)`,
    );
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${theme}: ${id}: ${nodes[0]?.html.slice(0, 200)}`);
  };
  return [...(await run('light', {})), ...(await run('dark', { runOnly: ['color-contrast'] }))];
}
