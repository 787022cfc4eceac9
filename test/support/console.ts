/**
 * A browser that uses the console: keeps cookies, and sends the CSRF token and its origin as scripts of the console do.
 */

import { beginSession, invitePerson, redeemLink } from '../../src/access/people/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import type { PersonRole } from '../../src/rules/index.ts';
import type { TestGateway } from './gateway.ts';
import { assertShown } from './shown.ts';

export interface ConsoleResponse<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: T;
}

export interface ConsoleFault {
  readonly error: { readonly code: string; readonly message: string; readonly param: string | null };
}

export class Browser {
  readonly #url: () => string;
  readonly cookies = new Map<string, string>();
  csrf: string | undefined;

  constructor(url: () => string) {
    this.#url = url;
  }

  /** Headers of a script of the console; undefined removes one. */
  headers(more: Readonly<Record<string, string | undefined>> = {}): Record<string, string> {
    const all: Record<string, string | undefined> = {
      cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') || undefined,
      'x-csrf-token': this.csrf,
      'sec-fetch-site': 'same-origin',
      ...more,
    };
    return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value ? [[name, value]] : [])));
  }

  async send<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    more: Readonly<Record<string, string | undefined>> = {},
  ): Promise<ConsoleResponse<T>> {
    const response = await fetch(`${this.#url()}${path}`, {
      method,
      redirect: 'manual',
      headers: this.headers({ ...(body !== undefined && { 'content-type': 'application/json' }), ...more }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const parsed = isJson ? JSON.parse(text) : undefined;
    if (typeof parsed?.csrf === 'string') this.csrf = parsed.csrf;
    assertShown({ method, target: path, status: response.status, body: parsed });
    return { status: response.status, headers: response.headers, text, body: parsed };
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';');
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    if (value === '') this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

export interface NewPerson {
  readonly email: string;
  readonly role: PersonRole;
  readonly user?: string;
  /** Stored as it is; a person without one cannot sign in with a password. */
  readonly passwordHash?: string;
}

/** Creates a person in the database and returns their id. */
export async function addPerson(db: Db, { email, role, user, passwordHash }: NewPerson): Promise<string> {
  const now = Date.now();
  const invitation = { email, role, name: email.split('@')[0] ?? '', user: user ?? null };
  const { person, link } = await invitePerson(db, invitation, { by: { actor: 'cli' }, now });
  const use = { name: undefined, email: undefined, now, requestId: 'req_test', address: '127.0.0.1' };
  if (passwordHash !== undefined) await redeemLink(db, { ...use, token: link.token, passwordHash });
  return person.id;
}

/** A browser in which the person is signed in; costs no password hash. */
export async function browserOf(gateway: Pick<TestGateway, 'context' | 'url'>, personId: string): Promise<Browser> {
  const { db } = gateway.context.database;
  const row = await db.selectFrom('people').selectAll().where('id', '=', personId).executeTakeFirstOrThrow();
  const { token, session } = await beginSession(db, row, Date.now());
  const browser = new Browser(() => gateway.url);
  browser.cookies.set('dragoman_session', token);
  browser.csrf = session.csrf;
  return browser;
}
