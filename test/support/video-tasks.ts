/**
 * Video tasks in any state, written to the database as the gateway would have left them, and users of their own for
 * each test.
 */
import { randomBytes } from 'node:crypto';
import type { TaskStatus } from '../../src/rules/index.ts';
import { TASK_PROGRESS } from '../../src/rules/index.ts';
import type { TestGateway } from './gateway.ts';
import { GROUPS, type TestVariant, VIDEO_MODELS } from './video.ts';

/** Limits are per user, so a test with many requests has its own. Returns the API key. */
export async function addUser(gateway: TestGateway, id: string): Promise<string> {
  const key = `key-of-${id}-`.padEnd(32, '0');
  await gateway.apply({
    users: [{ id, email: `${id}@example.test`, balance: '1000' }],
    keys: [{ user: id, group: 'openai', name: 'one', key }],
  });
  return key;
}

export const TERMINAL: readonly TaskStatus[] = ['cancelled', 'succeeded', 'failed', 'expired'];

export interface StoredTask {
  readonly variant?: TestVariant;
  readonly status?: TaskStatus;
  readonly model?: string;
  readonly ageDays?: number;
  readonly createdAt?: Date | string;
  readonly parameters?: object;
  readonly reported?: object;
  readonly usageTokens?: number;
  readonly error?: object;
  readonly upstreamId?: string;
}

/** The provider's id that `storeTask` writes by default. */
export const STORED_UPSTREAM_ID = 'cgt-20260101-stored';

/** Inserts a task of the user and returns its id. */
export async function storeTask(gateway: TestGateway, userId: string, task: StoredTask = {}): Promise<string> {
  const { variant = 'A', status = 'queued', ageDays = 0 } = task;
  const created = task.createdAt ?? new Date(Date.now() - ageDays * 86_400_000);
  const id = `task_${randomBytes(12).toString('hex')}`;
  await gateway.context.database.db
    .insertInto('video_tasks')
    .values({
      user_id: userId,
      id,
      key_id: 'key_stored',
      group_id: GROUPS[variant],
      account_id: `account-${GROUPS[variant]}`,
      variant,
      model: task.model ?? VIDEO_MODELS[variant],
      upstream_model: task.model ?? VIDEO_MODELS[variant],
      status,
      progress: TASK_PROGRESS[status] ?? 0,
      submission: 'confirmed',
      upstream_id: task.upstreamId ?? STORED_UPSTREAM_ID,
      callback_token_hash: randomBytes(32),
      safety_identifier: 'stored',
      parameters: JSON.stringify(task.parameters ?? { duration: 5, resolution: '480p', ratio: '16:9' }),
      ...(task.reported && { reported: JSON.stringify(task.reported) }),
      ...(task.error && { error: JSON.stringify(task.error) }),
      usage_tokens: task.usageTokens === undefined ? null : BigInt(task.usageTokens),
      has_video_input: false,
      callback_secret_sealed: 'sealed',
      expires_at: new Date(Date.now() + 86_400_000),
      created_at: created,
      updated_at: created,
      finished_at: TERMINAL.includes(status) ? created : null,
    })
    .execute();
  return id;
}

/** Writes columns of a task, such as the state that following it would reach. */
export async function setStatus(gateway: TestGateway, id: string, status: TaskStatus): Promise<void> {
  await gateway.context.database.db
    .updateTable('video_tasks')
    .set({
      status,
      progress: TASK_PROGRESS[status] ?? 0,
      finished_at: TERMINAL.includes(status) ? new Date() : null,
    })
    .where('id', '=', id)
    .execute();
}

/** The columns that no response shows. */
export const rowOf = (gateway: TestGateway, id: unknown) =>
  gateway.context.database.db
    .selectFrom('video_tasks')
    .selectAll()
    .where('id', '=', String(id))
    .executeTakeFirstOrThrow();
