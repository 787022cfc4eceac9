/**
 * Whose data a request is about: the user of the signed-in person, or, for operators who read, the user that the query
 * names.
 */
import { fail, failAt, notFound } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { ConsoleServices, Owner } from './services.ts';

export async function ownerOf({ db, guard }: ConsoleServices, call: Call): Promise<Owner> {
  const session = await guard.authorize(call);
  const { role, userId } = session.person;
  const named = new URLSearchParams(call.query).get('user') || null;
  if (named !== null && named !== userId) {
    const { method } = call.request;
    if (role !== 'operator' || (method !== 'GET' && method !== 'HEAD'))
      throw failAt('not_permitted', 'user', 'only operators may name another user, and only to read.');
    // A NUL character cannot be compared in PostgreSQL.
    const known = named.includes('\0')
      ? undefined
      : await db.selectFrom('users').select('id').where('id', '=', named).executeTakeFirst();
    if (!known) throw notFound('user', named, 'user');
    return { userId: known.id, session };
  }
  if (userId === null)
    throw fail('not_permitted', 'You have no user of your own; name one with ?user= to read.', { param: 'user' });
  return { userId, session };
}
