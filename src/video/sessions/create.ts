/**
 * Creation of a real-person authorization session (V 4.10 r1):
 * the session and the claim of the Idempotency-Key in one transaction, then one request to the provider.
 * Without a clear response nothing is left: a session that the provider may have is of no use without its link.
 */
import { randomBytes } from 'node:crypto';
import { type Insertable, sql } from 'kysely';
import type { Key } from '../../access/keys/index.ts';
import { type ApiError, fail, newId } from '../../core/index.ts';
import { firstRow, type Rows } from '../../platform/db/index.ts';
import { SESSION_CHECKS, SESSION_FIELDS, SESSION_LEASE_MS, SESSION_SECONDS } from '../../rules/index.ts';
import { parseAssetBody, readFields, readModel } from '../assets/fields.ts';
import { boundAccount, groupWith, misconfigured, unavailable } from '../assets/service-group.ts';
import { finishRecord, type IdempotentRequest, removeRecord } from '../idempotency/records.ts';
import { claimKey, replayLost, replayRequest } from '../idempotency/replay.ts';
import type { VideoServices } from '../services.ts';
import type { AssetCreateOutcome, StartedValidation } from '../upstream/asset-provider.ts';
import * as sessions from './check.ts';

const OPERATION = 'session.create';
/** An absent body is an empty object. */
const EMPTY_BODY = Buffer.from('{}');

export interface SessionInput {
  readonly bytes: Buffer;
  /** SHA-256 of the Idempotency-Key. */
  readonly keyHash: Buffer | undefined;
}

interface Creation extends sessions.SessionName {
  readonly idempotent: IdempotentRequest | undefined;
}

/** Returns the public object. A replay shows the link only while the session is pending. */
export async function createSession(services: VideoServices, key: Key, input: SessionInput): Promise<object> {
  const { members, fingerprint } = parseAssetBody(OPERATION, input.bytes.length === 0 ? EMPTY_BODY : input.bytes);
  const idempotent = input.keyHash && { userId: key.userId, operation: OPERATION, keyHash: input.keyHash, fingerprint };
  const original = idempotent && (await replay(services, idempotent));
  if (original) return original;
  const group = groupWith(services.catalog(), key, readModel(members, SESSION_FIELDS.model), 'hasRealPersonSessions');
  const fields = readFields(members, SESSION_FIELDS, services.allowedOrigins);
  const account = await boundAccount(services, key.userId, group.id);
  // The secret part of the path to which the browser returns.
  const secret = randomBytes(24).toString('base64url');
  const creation = await insertSession(services, idempotent, {
    user_id: key.userId,
    id: newId('authsess'),
    group_id: group.id,
    variant: group.variant,
    account_id: account.id,
    name: fields.name ?? '',
    description: fields.description ?? '',
    return_token_hash: sessions.hashReturnSecret(secret),
    redirect_url: fields.redirect_url ?? null,
  });
  if (!creation) return replayLost(idempotent && replay(services, idempotent));
  const returnUrl = `${services.publicUrl()}/return/real-person/${secret}`;
  const outcome = await services.assetProvider(account).startValidation(returnUrl);
  if (outcome.kind !== 'created') throw await discard(services, creation, outcome);
  return sessions.sessionView(services, await confirm(services, creation, outcome.value), ['pending']);
}

const replay = (services: VideoServices, request: IdempotentRequest): Promise<object | undefined> =>
  replayRequest(services.db, request, {
    recover: (id) => recoverSession(services, { user_id: request.userId, id }),
    respond: async (_status, id = '') => {
      const session = await sessions.findSession(services.db, { user_id: request.userId, id });
      if (!session) throw fail('authorization_session_not_found');
      return sessions.sessionView(services, session, ['pending']);
    },
  });

type NewSession = Omit<Insertable<Rows['authorization_sessions']>, 'status' | 'next_check_at' | 'expires_at'>;

/** Claim and session, together or not at all. Undefined when another request has claimed the key meanwhile. */
const insertSession = (services: VideoServices, idempotent: IdempotentRequest | undefined, session: NewSession) =>
  services.db.transaction().execute(async (tx) => {
    const { user_id, id } = session;
    const claim = { owner: services.replicaId, resourceId: id, leaseMs: SESSION_LEASE_MS };
    if (!(await claimKey(tx, idempotent, claim))) return undefined;
    await tx
      .insertInto('authorization_sessions')
      .values({
        ...session,
        status: 'pending',
        next_check_at: sql<Date>`now() + ${SESSION_LEASE_MS} * interval '1 millisecond'`,
        expires_at: sql<Date>`now() + ${SESSION_SECONDS} * interval '1 second'`,
      })
      .execute();
    return { user_id, id, idempotent };
  });

async function confirm({ db, sealer }: VideoServices, creation: Creation, { token, link }: StartedValidation) {
  const { user_id, id, idempotent } = creation;
  return db.transaction().execute(async (tx) => {
    const session = await firstRow(tx)<sessions.SessionRow>`
      update authorization_sessions set upstream_token_sealed = ${sealer.seal(token, sessions.tokenLocation(id))},
        link_sealed = ${sealer.seal(link, sessions.linkLocation(id))},
        next_check_at = now() + ${SESSION_CHECKS.pendingSeconds} * interval '1 second'
      where user_id = ${user_id} and id = ${id} and status = 'pending' and upstream_token_sealed is null
      returning ${sessions.COLUMNS}`;
    // The request took longer than its lease, and a worker has removed the session.
    if (!session) throw unavailable(503);
    if (idempotent) await finishRecord(tx, session, 201);
    return session;
  });
}

type NotCreated = Exclude<AssetCreateOutcome<unknown>, { kind: 'created' }>;

/** Removes the session, frees the key and returns the error for the caller. */
async function discard({ db, log }: VideoServices, creation: Creation, outcome: NotCreated): Promise<ApiError> {
  const { user_id, id, idempotent } = creation;
  await db.transaction().execute(async (tx) => {
    await sql`delete from authorization_sessions
      where user_id = ${user_id} and id = ${id} and upstream_token_sealed is null`.execute(tx);
    if (idempotent) await removeRecord(tx, { user_id, id });
  });
  if (outcome.kind === 'rejected') {
    const { status, code } = outcome.error;
    log.error('session.rejected', { session: id, status, code });
    // The request has no content of the caller, so the account or the public URL of this installation is to blame.
    return misconfigured();
  }
  log.warn('session.not_created', { session: id, outcome: outcome.kind });
  return unavailable(503, outcome.kind === 'not_sent' ? outcome.retryAfter : undefined);
}

/** Removes a session whose replica stopped while it was being created. No effect while that may still be at work. */
const recoverSession = ({ db }: Pick<VideoServices, 'db'>, name: sessions.SessionName): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const { numAffectedRows: removed = 0n } = await sql`
      delete from authorization_sessions
      where user_id = ${name.user_id} and id = ${name.id} and upstream_token_sealed is null
        and next_check_at <= now()`.execute(tx);
    const left = await firstRow(tx)`
      select from authorization_sessions where user_id = ${name.user_id} and id = ${name.id}`;
    if (removed > 0n || !left) await removeRecord(tx, name);
  });

const BATCH = 100;

/** Removes sessions whose replica stopped while they were being created. */
export async function recoverSessions(services: Pick<VideoServices, 'db'>): Promise<number> {
  const { rows } = await sql<sessions.SessionName>`
    select user_id, id from authorization_sessions
    where next_check_at <= now() and status = 'pending' and upstream_token_sealed is null
    limit ${BATCH}`.execute(services.db);
  for (const abandoned of rows) await recoverSession(services, abandoned);
  return rows.length;
}
