/**
 * Which account made a response, and for whom. Stored responses live with the provider; asking another account for one, or for
 * somebody else's, must answer exactly like asking for one that never was.
 */
import { fail } from '../core/index.ts';

interface Owner {
  readonly userId: string;
  readonly accountId: string;
}

const MAX_ENTRIES = 100_000;

export class ResponseOwners {
  readonly #owners = new Map<string, Owner>();

  remember(responseId: string, owner: Owner): void {
    const oldest = this.#owners.keys().next();
    if (this.#owners.size >= MAX_ENTRIES && !oldest.done) this.#owners.delete(oldest.value);
    this.#owners.set(responseId, owner);
  }

  accountOf(responseId: string, userId: string): string | undefined {
    const owner = this.#owners.get(responseId);
    return owner?.userId === userId ? owner.accountId : undefined;
  }

  forget(responseId: string): void {
    this.#owners.delete(responseId);
  }
}

export const previousNotFound = (id: string) =>
  fail('previous_response_not_found', `Previous response with id '${id.slice(0, 100)}' not found.`, {
    param: 'previous_response_id',
  });

export const responseNotFound = (id: string) =>
  fail('response_not_found', `Response with id '${id.slice(0, 100)}' not found.`);
