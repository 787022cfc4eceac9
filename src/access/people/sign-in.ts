/**
 * Sign-in with a password. Every failure gets the same response after the same work, whoever the address belongs to.
 */
import { randomBytes } from 'node:crypto';
import { type Clock, fail, hmac } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { BROWSER_MS } from '../../rules/index.ts';
import { isSameSecret } from '../keys/index.ts';
import type { Passwords } from './passwords.ts';
import { findPersonByEmail, lockPerson, normalEmail, type PersonRow } from './person.ts';
import { beginSession, type NewSession } from './sessions.ts';
import { beginSignIn, type SignInCounts } from './sign-in-limits.ts';

export interface SignInServices {
  readonly db: Db;
  readonly clock: Clock;
  readonly passwords: Passwords;
  readonly pepper: Buffer;
  readonly counts: SignInCounts;
}

export interface SignInInput {
  readonly email: string;
  readonly password: string;
  readonly address: string;
  readonly browser: string | undefined;
}

export class SignIn {
  readonly #services: SignInServices;

  constructor(services: SignInServices) {
    this.#services = services;
  }

  async withPassword({ email, password, address, browser }: SignInInput): Promise<NewSession> {
    const { db, clock, passwords, counts } = this.#services;
    const person = await findPersonByEmail(db, email);
    const isKnown = person !== undefined && this.isBrowserOf(person.id, browser);
    const attempt = { email: normalEmail(email), address, browser: isKnown ? browser : undefined };
    await beginSignIn(counts, attempt);
    const isCorrect = await passwords.verify(password, person?.password_hash);
    if (!person || !isCorrect) throw fail('invalid_credentials');
    const session = await db.transaction().execute(async (tx) => {
      const current = await lockPerson(tx, person.id);
      return isUnchanged(current, person) ? beginSession(tx, current, clock.now()) : undefined;
    });
    if (!session) throw fail('invalid_credentials');
    counts.succeed(attempt);
    return session;
  }

  /** For a signed-in person who repeats their password. `session` is counted alone, like a browser. */
  async confirm(person: PersonRow, password: string, session: string): Promise<void> {
    const { passwords, counts } = this.#services;
    const attempt = { email: person.email, address: '', browser: session };
    await beginSignIn(counts, attempt);
    if (!(await passwords.verify(password, person.password_hash))) throw fail('invalid_credentials');
    counts.succeed(attempt);
  }

  /** A value by which this browser is recognised as one of the person. */
  newBrowser(personId: string): string {
    const value = `${this.#services.clock.now() + BROWSER_MS}.${randomBytes(16).toString('base64url')}`;
    return `${value}.${this.#signatureOf(personId, value)}`;
  }

  isBrowserOf(personId: string, browser: string | undefined): boolean {
    const [, expires = '', random = '', signature = ''] = BROWSER.exec(browser ?? '') ?? [];
    return (
      Number(expires) > this.#services.clock.now() &&
      isSameSecret(signature, this.#signatureOf(personId, `${expires}.${random}`))
    );
  }

  #signatureOf(personId: string, value: string): string {
    return hmac(this.#services.pepper, `browser:${personId}:${value}`).toString('base64url');
  }
}

/** Expiry, random part, signature. Nothing may follow, because failures are counted by the whole text. */
const BROWSER = /^(\d{13,15})\.([\w-]{22})\.([\w-]{43})$/;

/** The person may have been disabled, or their password changed, while it was compared. */
const isUnchanged = (current: PersonRow, checked: PersonRow): boolean =>
  current.disabled_at === null && current.password_hash === checked.password_hash;
