/** Replay of an idempotent create (V 8): the original resource or stable error, a conflict, or "in progress". */
import { fail } from '../../core/index.ts';
import { type ErrorCode, errorRow } from '../../rules/index.ts';
import { findRecord, type IdempotentRequest, type OriginalResponse } from '../idempotency/records.ts';
import type { VideoServices } from '../services.ts';
import type { CreatedTask } from './order.ts';
import { recoverTask } from './recover.ts';
import { findCreatedTask } from './task.ts';

/** Undefined when the key is free. Throws the original error, `idempotency_conflict` or `idempotency_in_progress`. */
export async function replay(services: VideoServices, request: IdempotentRequest): Promise<CreatedTask | undefined> {
  const state = await findRecord(services.db, request);
  if (state.kind === 'absent') return undefined;
  if (state.kind === 'conflict')
    throw fail('idempotency_conflict', 'Idempotency-Key: it was used for a different request; use a new key.', {
      param: 'Idempotency-Key',
    });
  if (state.kind === 'finished') return respond(services, request, state.response);
  // The replica that ran the operation stopped: decide the outcome in its place, and look again.
  if (state.kind === 'abandoned' && state.resourceId !== undefined) {
    await recoverTask(services, request.userId, state.resourceId);
    const recovered = await findRecord(services.db, request);
    if (recovered.kind === 'absent') return undefined;
    if (recovered.kind === 'finished') return respond(services, request, recovered.response);
  }
  throw fail('idempotency_in_progress', 'Idempotency-Key: the original request is still in progress; query it later.', {
    param: 'Idempotency-Key',
    retryAfter: 2,
  });
}

async function respond(
  { db }: VideoServices,
  { userId }: IdempotentRequest,
  { status, resourceId, error }: OriginalResponse,
): Promise<CreatedTask> {
  if (error) {
    const { code, message, param } = error;
    throw fail(code as ErrorCode, message, { ...(param !== undefined && { param }), status: statusFor(code, status) });
  }
  const task = resourceId === undefined ? undefined : await findCreatedTask(db, userId, resourceId);
  if (!task) throw fail('task_not_found');
  return { status: status === 202 ? 202 : 200, task };
}

/** The recorded status, unless the code has only one. */
const statusFor = (code: string, recorded: number): number => {
  const { status } = errorRow(code as ErrorCode);
  return typeof status === 'number' ? status : recorded;
};
