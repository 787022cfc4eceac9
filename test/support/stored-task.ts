/** A video task as a row, for tests of what happens to tasks in the database alone. */
import type { Insertable } from 'kysely';
import type { Db, Rows } from '../../src/platform/db/index.ts';
import { FAR_FUTURE } from './ledger-process.ts';

type Task = Insertable<Rows['video_tasks']>;

/** Without a callback, at no account, and not looked at before the year 2090. */
export async function storeTask(db: Db, task: Partial<Task> & Pick<Task, 'user_id' | 'id'>): Promise<void> {
  await db
    .insertInto('video_tasks')
    .values({
      key_id: 'key_1',
      group_id: 'ep',
      variant: 'EP',
      model: 'demo-video-2-0-ep',
      upstream_model: 'demo-video-2-0-ep',
      callback_token_hash: Buffer.from(task.id),
      safety_identifier: 'end-user',
      parameters: JSON.stringify({ duration: 5, resolution: '480p', ratio: '16:9' }),
      has_video_input: false,
      callback_secret_sealed: '',
      expires_at: FAR_FUTURE,
      next_check_at: FAR_FUTURE,
      ...task,
    })
    .execute();
}
