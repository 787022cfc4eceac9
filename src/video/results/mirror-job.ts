/**
 * Mirroring by a job: results of tasks that succeeded lately, before their addresses expire.
 * The jobs of all replicas share it.
 */
import { sql } from 'kysely';
import { errorFields } from '../../core/index.ts';
import { allRows } from '../../platform/db/index.ts';
import { RESULT_MIRROR_JOB } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { type TaskRow, updateTask } from '../tasks/task.ts';
import type { Results } from './results.ts';

type JobServices = Pick<VideoServices, 'db' | 'log'> & { readonly results: Results };

/** Returns how many tasks it mirrored. A task that fails is tried again later, until its addresses have expired. */
export async function mirrorDue(services: JobServices): Promise<number> {
  const outcomes = await Promise.all((await takeDue(services)).map((task) => mirrorTask(services, task)));
  return outcomes.filter((isDone) => isDone).length;
}

async function takeDue({ db }: JobServices): Promise<TaskRow[]> {
  const { takenMs, forHours, batch } = RESULT_MIRROR_JOB;
  return allRows(db)<TaskRow>`
    with due as materialized (
      select user_id, id from video_tasks
      where result_url is not null and mirrored_at is null and deleted_at is null and status = 'succeeded'
        and result_reported_at > now() - ${forHours} * interval '1 hour'
        and (mirror_after is null or mirror_after <= now())
      order by result_reported_at limit ${batch} for update skip locked)
    update video_tasks t set mirror_after = now() + ${takenMs} * interval '1 millisecond'
    from due where t.user_id = due.user_id and t.id = due.id
    returning t.*`;
}

async function mirrorTask({ db, log, results }: JobServices, task: TaskRow): Promise<boolean> {
  try {
    if (!(await results.mirrorAll(task))) return false;
  } catch (error) {
    log.warn('result.mirror_task_failed', { task: task.id, fault: errorFields(error).fault });
    return false;
  }
  await updateTask(db, task).set({ mirrored_at: sql<Date>`now()` }).execute();
  return true;
}
