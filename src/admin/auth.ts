/** Authentication of the admin API by the admin token. The token is read for every call, so a rotation applies on every replica at once. */
import { fail } from '../core/index.ts';
import { type FailedAttempts, isSameSecret } from '../identity/index.ts';
import type { Call } from '../web/index.ts';

export class AdminAuth {
  readonly #token: () => Promise<string | undefined>;
  readonly #attempts: FailedAttempts;
  #reading: Promise<string | undefined> | undefined;

  constructor(token: () => Promise<string | undefined>, attempts: FailedAttempts) {
    this.#token = token;
    this.#attempts = attempts;
  }

  async check(call: Call): Promise<void> {
    const [, given] = /^bearer +(\S+) *$/i.exec(call.header('authorization') ?? '') ?? [];
    const token = given === undefined ? undefined : await this.#read();
    if (given !== undefined && token !== undefined && isSameSecret(given, token)) return;
    this.#attempts.reject(
      call.address,
      fail(
        'invalid_admin_token',
        'Send the admin token as "Authorization: Bearer <token>"; API keys are not accepted here.',
      ),
    );
  }

  /** Attempts at the same time share one query, so that guessing cannot occupy the database. */
  #read(): Promise<string | undefined> {
    this.#reading ??= this.#token().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }
}
