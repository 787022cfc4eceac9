/** Rows behind every page of the console, as the gateway would have written them over months. */
import type { Client } from 'pg';
import { fillRequests } from '../test/support/request-rows.ts';
import { fillUsage } from '../test/support/usage-rows.ts';
import { fillTasks } from '../test/support/video-rows.ts';
import { fillEntries } from './entry-rows.ts';

export interface ConsoleRows {
  /** Usage records, entries and calls; a tenth of them tasks, callbacks, assets and audit lines. */
  readonly rows: number;
  readonly lastDay: string;
  /** Has a fifth of all entries, and a tenth of the tasks. */
  readonly heavy: string;
}

const DAYS = 90;
/** Days of the request log, by default. */
export const LOG_DAYS = 14;
const USERS = 1_000;

export async function fillConsole(client: Client, { rows, lastDay, heavy }: ConsoleRows): Promise<void> {
  const tasks = Math.ceil(rows / 10);
  await client.query('set synchronous_commit = off');
  await fillUsage(client, { rows, users: USERS, days: DAYS, lastDay });
  await fillRequests(client, { rows, days: LOG_DAYS, lastDay });
  await fillTasks(client, { rows: tasks, users: USERS, days: DAYS, heavy: { userId: heavy, rows: tasks / 10 } });
  await fillEntries(client, { rows, days: DAYS, lastDay, heavy });
  await client.query(CALLBACKS);
  await client.query(ASSETS, [tasks]);
  await client.query(AUDIT, [tasks]);
  await client.query(HOURS, [LOG_DAYS]);
  await client.query('vacuum (analyze) callback_events, assets, audit');
}

/** One of each task; a few wait and a few are dead. */
const CALLBACKS = `
  insert into callback_events (user_id, task_id, version, event_id, url, host, body, state, attempts, last_status, created_at, finished_at)
  select user_id, id, 2, 'evt_' || md5(id), 'https://hooks.example/' || id, 'hooks.example', '{}', state, 1, 200, created_at,
    case when state <> 'pending' then created_at end
  from video_tasks, lateral (select case abs(hashtext(id)) % 500 when 0 then 'pending' when 1 then 'dead' else 'delivered' end as state) s`;

const ASSETS = `
  with made as (
    insert into asset_groups (user_id, id, group_id, variant, account_id, name, group_type, status, upstream_id)
    select 'u' || n, 'assetgrp_' || n, 'video-a', 'A', 'account', 'Group ' || n, 'AIGC', 'active', 'group-' || n from generate_series(1, 1000) n)
  insert into assets (user_id, id, asset_group_id, group_id, variant, account_id, name, asset_type, status, source_url, upstream_id, created_at)
  select 'u' || (1 + n % 1000), 'asset_' || md5(n::text), 'assetgrp_' || (1 + n % 1000), 'video-a', 'A', 'account', 'Asset ' || n, 'Image',
    case when n % 400 = 0 then 'failed' else 'active' end, 'https://example.com/a.png', 'asset-' || n,
    now() - ($1::int - n) * interval '1 minute'
  from generate_series(1, $1::int) n`;

const AUDIT = `
  insert into audit (at, actor, action, subject, after)
  select now() - ($1::int - n) * interval '1 minute', 'token', 'key.changed', 'key:key_' || n, '{"rpm": 60}' from generate_series(1, $1::int) n`;

const HOURS = `
  insert into request_hours_due
  select h from generate_series(date_trunc('hour', now()) - $1 * interval '1 day', now(), interval '1 hour') h`;
