/**
 * Where callbacks of a user's tasks go that are created without a URL of their own, and which events are sent there.
 */
import { sql } from 'kysely';
import { fail, publicUrl, unixSeconds } from '../../core/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import { CALLBACK_TYPES } from '../../rules/index.ts';
import type { CallbackDefault } from '../../schemas/index.ts';
import { problemOf } from '../request/content.ts';
import { alternatives, invalidField } from '../request/task-request.ts';
import type { VideoOwner } from '../services.ts';
import { defaultCallback } from '../tasks/create.ts';
import { objectOf } from '../upstream/exchange.ts';

export function callbackDefaults(db: Db, allowedOrigins: readonly string[]) {
  return {
    async get(owner: VideoOwner): Promise<CallbackDefault> {
      const row = await defaultCallback(db, owner);
      if (!row) throw fail('callback_not_found', 'No default callback is set.');
      return viewOf(row);
    },

    async set({ userId }: VideoOwner, body: unknown): Promise<CallbackDefault> {
      const entry = { ...readDefault(body, allowedOrigins), updated_at: sql<Date>`now()` };
      const row = await db
        .insertInto('callback_defaults')
        .values({ user_id: userId, ...entry })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet(entry))
        .returningAll()
        .executeTakeFirstOrThrow();
      return viewOf(row);
    },

    remove: ({ userId }: VideoOwner) => db.deleteFrom('callback_defaults').where('user_id', '=', userId).execute(),
  };
}

function readDefault(body: unknown, allowedOrigins: readonly string[]) {
  const { url, events = null, ...others } = objectOf(body) ?? {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw invalidField(unknown.slice(0, 80), 'unknown', 'remove it');
  const address = typeof url === 'string' ? publicUrl(url, allowedOrigins) : undefined;
  if (!(address instanceof URL))
    throw invalidField('url', address ? problemOf(address.message) : 'not a string', 'send a public HTTPS URL');
  if (events === null) return { url: address.href, types: null };
  const types = CALLBACK_TYPES.filter((type) => Array.isArray(events) && events.includes(type));
  if (types.length === 0 || types.length !== (events as unknown[]).length)
    throw invalidField('events', 'not a list of different events', `send some of ${alternatives(CALLBACK_TYPES)}`);
  return { url: address.href, types };
}

const viewOf = ({ url, types, updated_at }: Row<'callback_defaults'>): CallbackDefault => ({
  object: 'callback_default',
  url,
  events: (types ?? CALLBACK_TYPES) as CallbackDefault['events'],
  updated_at: unixSeconds(updated_at),
});
