/** Replay of an idempotent create of a task (V 8). */
import { fail } from '../../core/index.ts';
import type { IdempotentRequest } from '../idempotency/records.ts';
import { replayRequest } from '../idempotency/replay.ts';
import type { VideoServices } from '../services.ts';
import type { CreatedTask } from './order.ts';
import { recoverTask } from './recover.ts';
import { findCreatedTask } from './task.ts';

/** Undefined when the key is free. Throws the original error, `idempotency_conflict` or `idempotency_in_progress`. */
export const replay = (services: VideoServices, request: IdempotentRequest): Promise<CreatedTask | undefined> =>
  replayRequest(services.db, request, {
    recover: (id) => recoverTask(services, request.userId, id),
    respond: async (status, id) => {
      const task = id === undefined ? undefined : await findCreatedTask(services.db, request.userId, id);
      if (!task) throw fail('task_not_found');
      return { status: status === 202 ? 202 : 200, task };
    },
  });
