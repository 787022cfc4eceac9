/** Calls of the console to the caller's API: the cookie stands for the person, and the header names one of the keys of their user. */
import { findKeyOfUser, type Key } from '../../access/keys/index.ts';
import type { SessionGuard } from '../../access/people/index.ts';
import { type Clock, fail } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';

/** The key that a request may run as. Reads need the CSRF token too, because they can cost money. */
export const keyFinder =
  ({ db, clock, guard }: { readonly db: Db; readonly clock: Clock; readonly guard: SessionGuard }) =>
  async (call: Call, id: string): Promise<Key> => {
    const { person } = await guard.authorizeScript(call);
    if (person.userId === null)
      throw fail('not_permitted', 'You have no user of your own, and so no keys to call with.');
    const key = await findKeyOfUser(db, person.userId, id.slice(0, MAX_ID), clock.now());
    if (!key) throw fail('invalid_api_key', `Your user has no valid key with this id; choose another one.`);
    return key;
  };

const MAX_ID = 100;
