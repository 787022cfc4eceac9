/** Generates months of video tasks for many users, in order of time, as the gateway writes them. */
import type { Client } from 'pg';
import { until } from './wait.ts';

export interface TaskHistory {
  readonly rows: number;
  /** Users are named `u1`, `u2` and so on. */
  readonly users: number;
  readonly days: number;
  /** A user with so many of the tasks. Both must exist. */
  readonly heavy: { readonly userId: string; readonly rows: number };
}

/** Three variants with one model each; most tasks have succeeded. */
export async function fillTasks(client: Client, { rows, users, days, heavy }: TaskHistory): Promise<void> {
  await client.query(
    `insert into users (id) select 'u' || n from generate_series(1, $1::int) n on conflict do nothing`,
    [users],
  );
  await client.query(
    `insert into video_tasks (
       user_id, id, key_id, group_id, variant, model, upstream_model, status, progress, submission, account_id, upstream_id,
       callback_token_hash, safety_identifier, parameters, has_video_input, callback_secret_sealed, expires_at,
       created_at, updated_at, finished_at)
     select case when n % ($1::int / $5::int) = 0 then $4 else 'u' || (1 + hash % $2::int) end, 'task_' || md5(n::text), 'key_1',
       'group-' || variant, variant, 'model-' || variant, 'upstream', status, 0, 'confirmed', 'account', 'cgt-' || n,
       sha256(n::text::bytea), 'end-user', '{"duration": 5, "resolution": "720p", "ratio": "16:9"}', false, repeat('s', 120),
       at + interval '2 days', at, at, case when status not in ('queued', 'running') then at end
     from generate_series(1, $1::int) n,
       lateral (select abs(hashint4(n)) as hash) h,
       lateral (select (array['A', 'EP', 'HC'])[1 + hash / 7 % 3] as variant,
         coalesce((array['queued', 'running', 'failed', 'cancelled', 'expired'])[1 + hash / 31 % 100], 'succeeded') as status,
         now() - $3::float8 * (1 - n::float8 / $1) * interval '1 day' as at) t`,
    [rows, users, days, heavy.userId, heavy.rows],
  );
  // Any transaction of the database that is open meanwhile can keep pages from being marked as visible to all.
  await until('the visibility map', async () => {
    await client.query('vacuum (analyze) video_tasks');
    const { rows: found } = await client.query(
      "select relallvisible >= relpages as is_complete from pg_class where relname = 'video_tasks'",
    );
    return found[0].is_complete;
  });
}
