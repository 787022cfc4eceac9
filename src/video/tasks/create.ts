/**
 * Creation of a video task (V 4.2): checks in a fixed order, then the claim of the Idempotency-Key, the hold and the
 * task in one transaction, then one submission. The task exists before the first byte is sent to a provider.
 */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Key } from '../../access/keys/index.ts';
import { ApiError, fail, hmac, newId, overloaded } from '../../core/index.ts';
import { crashPoint, hold, holdOnceCovered } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { MAX_EXPIRY_OFFSET_SECONDS, TASK_EXPIRY_SECONDS } from '../../rules/index.ts';
import type { IdempotentRequest } from '../idempotency/records.ts';
import { claimKey, onLockTimeout, replayLost, replayRequest } from '../idempotency/replay.ts';
import { useAssets } from '../references.ts';
import type { TaskEntry } from '../request/task-request.ts';
import type { VideoOwner, VideoServices } from '../services.ts';
import { acceptRequest, examineRequest, maxCostOfRequest, resolveInputs, type TaskInput } from './accepted-request.ts';
import * as submission from './submission.ts';
import { submitTask } from './submit.ts';
import { callbackSecretLocation, findCreatedTask, hashCallbackToken, holdReference } from './task.ts';

export interface CreateInput extends TaskInput {
  /** SHA-256 of the Idempotency-Key. */
  readonly keyHash: Buffer | undefined;
  /** The caller's own name of the task. */
  readonly label?: string | undefined;
  /** Whom a user that is another gateway creates the task for. */
  readonly endUser?: string | undefined;
  readonly reserve: submission.Reserve;
}

/** The two entries are different operations: the same key may be used once on each. */
const OPERATION = { tasks: 'task.create.v3', videos: 'task.create.v1' } as const satisfies Record<TaskEntry, string>;

export async function createTask(services: VideoServices, key: Key, input: CreateInput) {
  const seen = await examineRequest(services, key, input);
  const idempotent = input.keyHash && {
    userId: key.userId,
    operation: OPERATION[input.entry],
    keyHash: input.keyHash,
    fingerprint: Buffer.from(seen.examined.fingerprint, 'hex'),
  };
  const original = idempotent && (await replay(services, idempotent));
  if (original) return original;
  const accepted = acceptRequest(seen);
  const order: submission.Order = {
    ...accepted,
    operation: `${input.entry}.create`,
    key,
    references: await resolveInputs(services, key, accepted),
    idempotent,
    label: input.label,
    endUser: input.endUser,
    reserve: input.reserve,
  };
  const inserted = await insertOnceCovered(services, order);
  if (!inserted) return replayLost(idempotent && replay(services, idempotent));
  crashPoint('task.committed');
  return submitTask(services, { ...order, ...inserted });
}

/** A balance that is short may be leased to servers that do not use it; they return it when they are asked. */
function insertOnceCovered(
  services: VideoServices,
  order: submission.Order,
): Promise<submission.InsertedTask | undefined> {
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
async function insertTask(services: VideoServices, order: submission.Order, id: string) {
  const { key, target, request, idempotent } = order;
  const { db, clock, replicaId } = services;
  const { nanos, unit, count } = maxCostOfRequest(services, key, order);
  const owner = `${replicaId}:${id}`;
  const callbackToken = randomBytes(24).toString('base64url');
  const expirySeconds = request.parameters.execution_expires_after ?? TASK_EXPIRY_SECONDS.default;
  return db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = '2s'`.execute(tx);
    const claim = { owner, resourceId: id, leaseMs: submission.SUBMISSION_LEASE_MS };
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
        submitter_until: submission.leaseEnd,
        callback_token_hash: hashCallbackToken(callbackToken),
        safety_identifier: safetyIdentifierOf(services, key.userId, order.endUser ?? request.safetyIdentifier),
        parameters: JSON.stringify({
          ...request.parameters,
          ...(request.promptOptions && { prompt_options: true }),
        }),
        has_video_input: request.hasVideoInput,
        unit,
        max_tokens: BigInt(count),
        ...(await destinationOf(tx, key, request.callbackUrl)),
        label: order.label ?? null,
        callback_secret_sealed: await sealCallbackSecret(services, tx, key, id),
        expires_at: sql<Date>`now() + ${expirySeconds} * interval '1 second'`,
        sent_expiry: request.parameters.execution_expires_after === undefined ? freeExpiry(key.userId) : null,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await useAssets(tx, key.userId, id, order.references.assetIds);
    crashPoint('task.inserted');
    return { task, owner, callbackToken };
  });
}

/**
 * The expiry of no other open submission of the user.
 * The hold has locked the wallet, so the user's creations come one after the other.
 */
const freeExpiry = (userId: string) => sql<number>`(
  select ${TASK_EXPIRY_SECONDS.default}::int - coalesce((
    select n from generate_series(1, ${MAX_EXPIRY_OFFSET_SECONDS}) n where n not in (
      select ${TASK_EXPIRY_SECONDS.default}::int - sent_expiry from video_tasks
      where user_id = ${userId} and submission in ('pending', 'sending', 'unknown')
        and finished_at is null and sent_expiry is not null)
    order by n limit 1), 1))`;

const insufficientBalance = () =>
  fail(
    'insufficient_balance',
    'The balance does not cover the maximum cost of this task; add credit or ask for a shorter video.',
  );

const walletBusy = (): ApiError =>
  overloaded('The balance is in use by other requests. Nothing was created; try again shortly.', 2);

/**
 * A stable, anonymous name of the end user for the provider's abuse checks.
 * Another installation with the same credential and user has another one, so that none takes tasks of the other.
 * A user may name users of its own; those of different users never meet.
 */
const safetyIdentifierOf = ({ secret }: Pick<VideoServices, 'secret'>, userId: string, endUser?: string): string =>
  hmac(secret, `end-user:${userId}${endUser === undefined ? '' : `:${endUser}`}`)
    .toString('hex')
    .slice(0, 32);

/** The callback secret of the key, sealed for the task: the key may be rotated before the callback is sent (V 6 r5). */
async function sealCallbackSecret({ sealer }: VideoServices, tx: Db, key: Key, taskId: string): Promise<string> {
  const { id, callbackSecret } = key;
  const { callback_secret_sealed: sealed } = await tx
    .selectFrom('keys')
    .select('callback_secret_sealed')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const secret = callbackSecret ?? sealer.open(sealed, `keys.callback_secret:${id}`);
  return sealer.seal(secret, callbackSecretLocation(taskId));
}

/** Undefined when the key is free. Throws the original error, `idempotency_conflict` or `idempotency_in_progress`. */
const replay = (services: VideoServices, request: IdempotentRequest): Promise<submission.CreatedTask | undefined> =>
  replayRequest(services.db, request, {
    recover: (id) => submission.recoverTask(services, request.userId, id),
    respond: async (status, id) => {
      const task = id === undefined ? undefined : await findCreatedTask(services.db, request.userId, id);
      if (!task) throw fail('task_not_found');
      return { status: status === 202 ? 202 : 200, task };
    },
  });

export const defaultCallback = (db: Db, { userId }: VideoOwner) =>
  db.selectFrom('callback_defaults').selectAll().where('user_id', '=', userId).executeTakeFirst();

/** A URL of the task itself gets every event. */
async function destinationOf(tx: Db, owner: VideoOwner, own: string | undefined) {
  if (own !== undefined) return { callback_url: own, callback_types: null };
  const row = await defaultCallback(tx, owner);
  return { callback_url: row?.url ?? null, callback_types: row?.types ?? null };
}
