/** Replay of an idempotent create (V 8): the original resource or stable error, a conflict, or "in progress". */
import { sql } from 'kysely';
import { type ApiError, fail } from '../../core/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { type ErrorCode, errorRow } from '../../rules/index.ts';
import { type Claim, claimRecord, findRecord, type IdempotentRequest, type OriginalResponse } from './records.ts';

/** What a replay needs to know about a kind of resource. */
export interface Replayable<T> {
  /** Decides the outcome of an operation whose replica stopped. */
  recover(resourceId: string): Promise<void>;
  /** The response for the resource as it is now. Throws when the resource is gone. */
  respond(status: number, resourceId: string | undefined): Promise<T>;
}

/** Undefined when the key is free. Throws the original error, `idempotency_conflict` or `idempotency_in_progress`. */
export async function replayRequest<T>(db: Db, request: IdempotentRequest, resource: Replayable<T>) {
  const state = await findRecord(db, request);
  if (state.kind === 'absent') return undefined;
  if (state.kind === 'conflict')
    throw fail('idempotency_conflict', 'Idempotency-Key: it was used for a different request; use a new key.', {
      param: 'Idempotency-Key',
    });
  if (state.kind === 'finished') return respond(resource, state.response);
  // The replica that ran the operation stopped: decide the outcome in its place, and check again.
  if (state.kind === 'abandoned' && state.resourceId !== undefined) {
    await resource.recover(state.resourceId);
    const recovered = await findRecord(db, request);
    if (recovered.kind === 'absent') return undefined;
    if (recovered.kind === 'finished') return respond(resource, recovered.response);
  }
  throw fail('idempotency_in_progress', 'Idempotency-Key: the original request is still in progress; query it later.', {
    param: 'Idempotency-Key',
    retryAfter: 2,
  });
}

async function respond<T>(resource: Replayable<T>, { status, resourceId, error }: OriginalResponse): Promise<T> {
  if (error) {
    const { code, message, param } = error;
    throw fail(code as ErrorCode, message, { ...(param !== undefined && { param }), status: statusFor(code, status) });
  }
  return resource.respond(status, resourceId);
}

/** The recorded status, unless the code has only one. */
const statusFor = (code: string, recorded: number): number => {
  const { status } = errorRow(code as ErrorCode);
  return typeof status === 'number' ? status : recorded;
};

/** The winner of a claim has committed: responds as it did, or says that it is still at work. */
export async function replayLost<T>(original: Promise<T | undefined> | undefined): Promise<T> {
  const replayed = await original;
  if (!replayed) throw inProgress();
  return replayed;
}

/** In the transaction that creates the resource. False when another request has claimed the key meanwhile. */
export async function claimKey(tx: Db, request: IdempotentRequest | undefined, claim: Claim): Promise<boolean> {
  if (!request) return true;
  await sql`set local lock_timeout = '2s'`.execute(tx);
  return claimRecord(tx, request, claim).catch(onLockTimeout(inProgress));
}

/** Another request has claimed the key and is still at work. */
const inProgress = (): ApiError => fail('idempotency_in_progress', undefined, { retryAfter: 2 });

/** Code of PostgreSQL for a lock that was not granted in time. */
const LOCK_NOT_AVAILABLE = '55P03';

/** Replaces the error of a lock that was not granted in time. */
export const onLockTimeout =
  (errorFor: () => ApiError) =>
  (error: Error & { readonly code?: string }): never => {
    throw error.code === LOCK_NOT_AVAILABLE ? errorFor() : error;
  };
