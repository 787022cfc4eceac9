/** Authentication of the admin API: by the admin token, read for every call so that a rotation applies at once, or by a session. */
import { type Actor, type FailedAttempts, isSameSecret } from '../../access/keys/index.ts';
import { personActor, type SessionGuard } from '../../access/people/index.ts';
import { fail } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';

export interface AdminAuthServices {
  readonly token: () => Promise<string | undefined>;
  readonly attempts: FailedAttempts;
  readonly guard: SessionGuard;
}

export class AdminAuth {
  readonly #services: AdminAuthServices;
  #reading: Promise<string | undefined> | undefined;

  constructor(services: AdminAuthServices) {
    this.#services = services;
  }

  /** The actor of the call. A request with an `authorization` header is judged by that alone. */
  async authorize(call: Call): Promise<Actor> {
    const { guard, attempts } = this.#services;
    const header = call.header('authorization');
    if (header === undefined && guard.hasCookie(call))
      return personActor(call, await guard.authorize(call, 'operator'));
    const [, given] = /^bearer +(\S+) *$/i.exec(header ?? '') ?? [];
    const token = given === undefined ? undefined : await this.#read();
    if (given !== undefined && token !== undefined && isSameSecret(given, token))
      return { actor: 'token', requestId: call.id, address: call.address };
    return attempts.reject(
      call.address,
      fail(
        'invalid_admin_token',
        'Send the admin token as "Authorization: Bearer <token>"; API keys are not accepted here.',
      ),
    );
  }

  /** Attempts at the same time share one query, so that guessing cannot occupy the database. */
  #read(): Promise<string | undefined> {
    this.#reading ??= this.#services.token().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }
}
