/** Columns that an erasure leaves in rows of a user. A new one is decided here: it is erased (`begin_erasure`, `erase_rows`, `erase_log`), or names nobody. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { openDatabase } from '../../src/platform/db/index.ts';
import { testDatabase } from '../support/database.ts';

/** Rows of these tables go as a whole. */
const GONE =
  `asset_accounts asset_groups assets authorization_sessions background_responses batch_lines batches callback_attempts callback_circuits
  callback_defaults callback_events captures conversation_items conversation_pages conversations file_parts files idempotency_records notice_deliveries notices people
  provider_batch_lines provider_batches provider_objects stored_bytes stored_responses
  warning_destinations warning_rules warning_states`.split(/\s+/);

/** Ids, words of the product, figures and hashes of random values. */
const NAMELESS: Readonly<Record<string, string>> = {
  erasures: 'actor counts user_id',
  holds: 'reference state user_id',
  keys: 'allowed_models callback_secret_sealed group_id groups hash id limits prefer spend_id user_id video_groups',
  leases: 'replica_id user_id',
  provider_tasks: 'provider task_id upstream_id user_id',
  requests: `account_id client code error group_id id key_id model operation outcome target upstream_model usage user_id`,
  usage_daily: 'account_id group_id key_id model operation user_id',
  usage_monthly: 'account_id group_id key_id model operation user_id',
  usage_records: 'account_id fault group_id id key_id model operation request_id usage user_id',
  video_tasks: `account_id callback_token_hash callback_types group_id id key_id model operation parameters reported service_tier status submission submitter unit
    upstream_id upstream_model user_id variant`,
  video_task_assets: 'asset_id task_id user_id',
  wallets: 'user_id',
  wishes: 'owner user_id',
};

/** Cleared in the rows that stay. */
const CLEARED: Readonly<Record<string, string>> = {
  keys: 'allowed_addresses hint name',
  requests: 'attempts changed dropped message',
  video_tasks: 'callback_secret_sealed callback_url candidates error label last_frame_url result_url safety_identifier',
};

const words = (text: string | undefined): string[] => text?.split(/\s+/).filter(Boolean) ?? [];

test('every column of a user that can hold text is erased, or is known to name nobody', async (t) => {
  const database = await testDatabase();
  const { db, close } = openDatabase(database.url, 2);
  t.after(() => close().finally(() => database.drop()));
  const { rows } = await sql<{ table: string; columns: string[] }>`
    select c.table_name as table, array_agg(c.column_name::text order by c.column_name) as columns
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where t.table_schema = 'public' and t.table_type = 'BASE TABLE'
      and c.data_type in ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY')
      and exists (select from information_schema.columns o
        where o.table_schema = 'public' and o.table_name = c.table_name and o.column_name = 'user_id')
    group by c.table_name order by c.table_name`.execute(db);
  for (const { table, columns } of rows) {
    if (GONE.includes(table)) continue;
    const known = new Set([...words(NAMELESS[table]), ...words(CLEARED[table])]);
    assert.deepEqual(columns, [...known].sort(), `columns of ${table}`);
  }
});
