/** The plan of a call, without the call. Reads only; the body of the request is that of the call, and is neither kept nor shown. */
import { z } from 'zod';
import { findKeyById, type Key } from '../../access/keys/index.ts';
import { failAt } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { expectJson, readBody } from '../../platform/web/index.ts';
import { DIALECTS, WORKING_COPIES } from '../../rules/index.ts';
import { line } from '../../schemas/index.ts';
import { notFound, operation } from './handler.ts';

const ExplainQuery = z.strictObject({
  key: line(64, 'id of the API key that makes the call'),
  model: line(512, 'as the caller names it; replaces that of the body'),
  dialect: z.enum(DIALECTS).describe("of the call; by default that of the key's group").optional(),
});
const CallBody = z.looseObject({}).describe('the body of the call; without one, a minimal one of its dialect');

/** Of any user. */
export async function keyToExplain(db: Db, id: string, now: number): Promise<Key> {
  const key = await findKeyById(db, id, now);
  if (key) return key;
  const row = await db.selectFrom('keys').select('id').where('id', '=', id).executeTakeFirst();
  if (!row) throw notFound('key', id, 'key');
  throw failAt('invalid_request', 'key', 'it is revoked or has expired, so that its calls get 401 invalid_api_key.');
}

export const EXPLAIN_OPERATIONS = {
  'admin.explain': operation({
    query: ExplainQuery,
    body: CallBody,
    // It stays bytes, as that of a call.
    readBody: async () => ({}),
    async handle({ call, query }, { db, clock, explain, maxTextBytes }) {
      expectJson(call);
      const body = await readBody(call, maxTextBytes, { copies: WORKING_COPIES.converted });
      const key = await keyToExplain(db, query.key, clock.now());
      return await explain({ ...query, key, body: body.length === 0 ? undefined : body });
    },
  }),
};
