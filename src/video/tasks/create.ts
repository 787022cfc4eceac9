/**
 * Creation of a video task (V 4.2): checks in a fixed order, then the claim of the Idempotency-Key, the hold and the task in one
 * transaction, then one submission. The task exists before the first byte is sent to a provider.
 */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Key } from '../../access/keys/index.ts';
import { ApiError, fail, hmac, newId } from '../../core/index.ts';
import { crashPoint, hold, holdOnceCovered } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { TASK_EXPIRY_SECONDS } from '../../rules/index.ts';
import type { IdempotentRequest } from '../idempotency/records.ts';
import { claimKey, onLockTimeout, replayLost, replayRequest } from '../idempotency/replay.ts';
import { resolveReferences, useAssets } from '../references.ts';
import type { TaskEntry } from '../request/task-request.ts';
import type { VideoServices } from '../services.ts';
import { acceptRequest, examineRequest, maxCostOfRequest, type TaskInput } from './accepted-request.ts';
import type { CreatedTask, InsertedTask, Order } from './order.ts';
import { recoverTask } from './recover.ts';
import { leaseEnd, SUBMISSION_LEASE_MS } from './submission-lease.ts';
import { submitTask } from './submit.ts';
import { callbackSecretLocation, findCreatedTask, hashCallbackToken, holdReference } from './task.ts';

export interface CreateInput extends TaskInput {
  /** SHA-256 of the Idempotency-Key. */
  readonly keyHash: Buffer | undefined;
}

/** The two entries are different operations: the same key may be used once on each. */
const OPERATION = { tasks: 'task.create.v3', videos: 'task.create.v1' } as const satisfies Record<TaskEntry, string>;

export async function createTask(services: VideoServices, key: Key, input: CreateInput): Promise<CreatedTask> {
  const seen = await examineRequest(services, key, input);
  const idempotent = input.keyHash && {
    userId: key.userId,
    operation: OPERATION[input.entry],
    keyHash: input.keyHash,
    fingerprint: Buffer.from(seen.examined.fingerprint, 'hex'),
  };
  const original = idempotent && (await replay(services, idempotent));
  if (original) return original;
  const { target, request, template } = acceptRequest(seen);
  const references = await resolveReferences(services, key, target, request.references);
  const operation = `${input.entry}.create` as const;
  const order: Order = { operation, key, target, request, template, references, idempotent };
  const inserted = await insertOnceCovered(services, order);
  if (!inserted) return replayLost(idempotent && replay(services, idempotent));
  crashPoint('task.committed');
  return submitTask(services, { ...order, ...inserted });
}

/** A balance that is short may be leased to servers that do not use it; they return it when they are asked. */
function insertOnceCovered(services: VideoServices, order: Order): Promise<InsertedTask | undefined> {
  const { nanos } = maxCostOfRequest(services, order.key, order);
  const id = newId('task');
  const need = { userId: order.key.userId, nanos, reference: holdReference(id), refusal: insufficientBalance };
  return holdOnceCovered(services, need, () =>
    insertTask(services, order, id).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 'insufficient_balance') return 'short';
      throw error;
    }),
  );
}

/** Claim, hold and task, together or not at all. Undefined when another request has claimed the key meanwhile. */
async function insertTask(services: VideoServices, order: Order, id: string): Promise<InsertedTask | undefined> {
  const { key, target, request, idempotent } = order;
  const { db, clock, replicaId } = services;
  const { nanos, tokens } = maxCostOfRequest(services, key, order);
  const owner = `${replicaId}:${id}`;
  const callbackToken = randomBytes(24).toString('base64url');
  const expirySeconds = request.executionExpiresAfter ?? TASK_EXPIRY_SECONDS.default;
  return db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = '2s'`.execute(tx);
    const claim = { owner, resourceId: id, leaseMs: SUBMISSION_LEASE_MS };
    if (!(await claimKey(tx, idempotent, claim))) return undefined;
    crashPoint('task.claimed');
    const checkAfter = new Date(clock.now() + (expirySeconds + TASK_EXPIRY_SECONDS.grace) * 1_000);
    const input = { userId: key.userId, nanos, reference: holdReference(id), checkAfter };
    const held = await hold(tx, input).catch(onLockTimeout(walletBusy));
    if (held !== 'held') throw insufficientBalance();
    crashPoint('task.held');
    const task = await tx
      .insertInto('video_tasks')
      .values({
        user_id: key.userId,
        id,
        key_id: key.id,
        group_id: target.group.id,
        variant: target.group.variant,
        operation: order.operation,
        model: target.model.name,
        upstream_model: target.model.upstream,
        submitter: owner,
        submitter_until: leaseEnd,
        callback_token_hash: hashCallbackToken(callbackToken),
        safety_identifier: safetyIdentifierOf(services, key.userId),
        parameters: JSON.stringify({
          ...request.parameters,
          ...(request.promptOptions && { prompt_options: true }),
        }),
        has_video_input: request.hasVideoInput,
        max_tokens: BigInt(tokens),
        callback_url: request.callbackUrl ?? null,
        callback_secret_sealed: await sealCallbackSecret(services, tx, key.id, id),
        expires_at: sql<Date>`now() + ${expirySeconds} * interval '1 second'`,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await useAssets(tx, key.userId, id, order.references.assetIds);
    crashPoint('task.inserted');
    return { task, owner, callbackToken };
  });
}

const insufficientBalance = () =>
  fail(
    'insufficient_balance',
    'The balance does not cover the maximum cost of this task; add credit or ask for a shorter video.',
  );

const walletBusy = (): ApiError =>
  fail('server_is_overloaded', 'The balance is in use by other requests. Nothing was created; try again shortly.', {
    retryAfter: 2,
  });

/**
 * A stable, anonymous name of the end user for the provider's abuse checks. Another installation with the same credential and user has
 * another one, so that none takes tasks of the other.
 */
const safetyIdentifierOf = ({ secret }: Pick<VideoServices, 'secret'>, userId: string): string =>
  hmac(secret, `end-user:${userId}`).toString('hex').slice(0, 32);

/** The callback secret of the key, sealed for the task: the key may be rotated before the callback is sent (V 6 r5). */
async function sealCallbackSecret({ sealer }: VideoServices, tx: Db, keyId: string, taskId: string): Promise<string> {
  const { callback_secret_sealed: sealed } = await tx
    .selectFrom('keys')
    .select('callback_secret_sealed')
    .where('id', '=', keyId)
    .executeTakeFirstOrThrow();
  return sealer.seal(sealer.open(sealed, `keys.callback_secret:${keyId}`), callbackSecretLocation(taskId));
}

/** Undefined when the key is free. Throws the original error, `idempotency_conflict` or `idempotency_in_progress`. */
const replay = (services: VideoServices, request: IdempotentRequest): Promise<CreatedTask | undefined> =>
  replayRequest(services.db, request, {
    recover: (id) => recoverTask(services, request.userId, id),
    respond: async (status, id) => {
      const task = id === undefined ? undefined : await findCreatedTask(services.db, request.userId, id);
      if (!task) throw fail('task_not_found');
      return { status: status === 202 ? 202 : 200, task };
    },
  });
