/** What is stored of a user, a JSON object per line. Never the value of a key, an account or a cost. */
import { sql } from 'kysely';
import { type Actor, writeAudit } from '../../access/keys/index.ts';
import { notFound } from '../../core/index.ts';
import type { UsageAudience } from '../../ledger/index.ts';
import { snapshot, streamRows, type Tx } from '../../platform/db/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { sendDownload } from './download.ts';
import type { AdminServices } from './handler.ts';

type Line = Readonly<Record<string, unknown>>;
/** Kinds whose rows hold sealed text. */
type Sealed = 'stored_response' | 'capture' | 'conversation_item' | 'conversation_page';

/** On record before anything is sent: the lines hold what callers wrote. */
export async function sendExport(
  call: Call,
  { userId, by, audience }: { readonly userId: string; readonly by: Actor; readonly audience: UsageAudience },
  { db, clock, secrets: { sealer } }: Pick<AdminServices, 'db' | 'clock' | 'secrets'>,
): Promise<void> {
  const known = await db.selectFrom('users').select('id').where('id', '=', userId).executeTakeFirst();
  if (!known) throw notFound('user', userId);
  await writeAudit(db, by, { action: 'user.exported', subject: `user:${userId}` });
  const opened = ({ object, id, sealed, ...line }: Line): Line => {
    // The provider holds a response without text.
    const text = typeof sealed === 'string' ? sealer.open(sealed, `${object as Sealed}s.sealed:${id}`) : 'null';
    return { object, id, ...line, content: JSON.parse(text) };
  };
  const text = (lines: readonly Line[]): string =>
    lines.map((line) => `${JSON.stringify('sealed' in line ? opened(line) : line)}\n`).join('');
  const file = { name: `${userId}.ndjson`, type: 'application/x-ndjson', head: '', audience, text };
  await snapshot(db, (tx) => sendDownload(call, { ...file, batches: linesOf(tx, userId) }, clock));
}

const BATCH_LINES = 1_000;

/** One query after the other, so that memory holds one batch. Bodies take up to some megabytes each. */
async function* linesOf(tx: Tx, userId: string): AsyncGenerator<readonly Line[]> {
  for (const row of EXPORTED.trim().split('\n')) {
    const [object = '', from = '', columns = ''] = row.split(' | ');
    const query = sql<{ line: Line }>`
      select to_jsonb(t) as line from (select ${object}::text as object, ${sql.raw(columns)} from ${sql.raw(from)} = ${userId}) t`;
    const batches = streamRows(tx, query, columns.includes('sealed') ? 1 : BATCH_LINES);
    for await (const rows of batches) yield rows.map(({ line }) => line);
  }
}

const CALL = 'key_id as key, group_id as "group", operation, model';
const TOKENS = 'input_tokens, cached_input_tokens, cache_write_tokens, output_tokens';
const AMOUNT = 'trim_scale(nanos / 1e9)::text as amount';
const MOVEMENT = `id::text, created_at as at, kind, trim_scale(case when kind = 'credit' then nanos else -nanos end / 1e9)::text as amount`;

/** Kind of the lines, their rows up to the value of the user, and their members. */
const EXPORTED = `
user | users where id | id, email, limits, max_keys, key_groups, created_at
person | people where role = 'user' and user_id | id, email, name, disabled_at, signed_in_at, created_at
key | keys where user_id | id, name, hint, group_id as "group", video_groups, allowed_models, allowed_addresses, limits, store, expires_at, revoked_at, capture_until, created_at
usage | usage_daily where user_id | day, ${CALL}, requests, ${TOKENS}, reasoning_tokens, searches, images, ${AMOUNT}
movement | entries where credit | ${MOVEMENT}, reference, reason
movement | entries where debit | ${MOVEMENT}, reference, reason
call | requests where user_id | id, at, ${CALL}, stream, status, outcome, code, message, ${TOKENS}, total_ms, ${AMOUNT}
task | video_tasks where user_id | id, key_id as key, group_id as "group", model, status, parameters, usage_tokens, error, callback_url, created_at, finished_at, deleted_at
asset_group | asset_groups where not is_hidden and user_id | id, name, description, group_type, status, created_at, deleted_at
asset | assets where user_id | id, asset_group_id, name, asset_type, status, source_url, created_at, deleted_at
authorization | authorization_sessions where user_id | id, name, description, status, asset_group_id, redirect_url, created_at
callback | callback_events where user_id | event_id as id, task_id as task, url, state, attempts, created_at
warning | warning_rules where user_id | id, name, kind, scope, subject, period, ${AMOUNT}, percent, paused, created_at
warning_destination | warning_destinations where user_id | id, name, kind, host, addresses, quiet, created_at
notice | notices where user_id | id, content, created_at
stored_response | stored_responses where user_id | id, created_at, expires_at, sealed
capture | captures where user_id | request_id as id, at, sealed
file | files where user_id | id, name, media_type, purpose, bytes, created_at, expires_at
batch | batches where user_id | id, key_id as key, operation, state, total, succeeded, input_file, output_file, error_file, created_at, ended_at
conversation_item | conversation_items where user_id | concat(conversation_id, '/', n) as id, sealed
conversation_page | conversation_pages where user_id | concat(conversation_id, '/', id) as id, sealed
`;
