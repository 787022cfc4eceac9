/** Announcement of a change of status (V 6): an event row in the transaction of the change, delivered later, at least once. */

import { newId } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { TaskRow } from './task.ts';
import { taskView } from './view.ts';

/** Inserts the event of the task's present version. Tasks without a callback URL have none. */
export async function announce(tx: Db, task: TaskRow, publicUrl: string): Promise<void> {
  if (task.callback_url === null) return;
  const eventId = newId('evt');
  await tx
    .insertInto('callback_events')
    .values({
      user_id: task.user_id,
      task_id: task.id,
      version: task.version,
      event_id: eventId,
      url: task.callback_url,
      host: new URL(task.callback_url).host,
      body: Buffer.from(JSON.stringify(eventOf(task, eventId, publicUrl))),
    })
    .execute();
}

/** The body of a callback: the documented members only. The type is the status (V 6 r6). */
function eventOf(task: TaskRow, eventId: string, publicUrl: string): object {
  const { id, model, status, error, created_at, updated_at, content } = taskView(task, publicUrl);
  return {
    event_id: eventId,
    type: status,
    created_at: updated_at,
    data: { id, model, status, error, created_at, updated_at, version: task.version, ...(content && { content }) },
  };
}
