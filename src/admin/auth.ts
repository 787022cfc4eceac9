/** Authentication of the admin API by the admin token. The token is read for every call, so a rotation applies on every replica at once. */
import { fail } from '../core/index.ts';
import { type FailedAttempts, isSameSecret } from '../identity/index.ts';
import type { Call } from '../web/index.ts';

export class AdminAuth {
  readonly #token: () => Promise<string | undefined>;
  readonly #attempts: FailedAttempts;

  constructor(token: () => Promise<string | undefined>, attempts: FailedAttempts) {
    this.#token = token;
    this.#attempts = attempts;
  }

  async check(call: Call): Promise<void> {
    this.#attempts.check(call.address);
    const [, given] = /^bearer +(\S+) *$/i.exec(call.header('authorization') ?? '') ?? [];
    const token = given === undefined ? undefined : await this.#token();
    if (given !== undefined && token !== undefined && isSameSecret(given, token)) return;
    this.#attempts.count(call.address);
    throw fail(
      'invalid_admin_token',
      'Send the admin token as "Authorization: Bearer <token>"; API keys are not accepted here.',
    );
  }
}
