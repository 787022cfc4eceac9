/**
 * The outcome of a real-person authorization (V 3, V 4.10 r2). Only the provider's own result decides: the browser's
 * return is a hint to ask for it. A session with a result gets the group of the person in the same transaction.
 */
import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { errorFields, newId, unixSeconds } from '../../core/index.ts';
import { allRows, type Db, firstRow, type Row } from '../../platform/db/index.ts';
import { ASSET_GROUP_TYPES, SESSION_CHECKS, SESSION_ERROR, type SessionStatus } from '../../rules/index.ts';
import { accountOf } from '../assets/service-group.ts';
import type { VideoServices } from '../services.ts';
import { AccountRates } from '../upstream/rates.ts';

type CheckServices = Pick<VideoServices, 'db' | 'catalog' | 'sealer' | 'clock' | 'log' | 'assetProvider'>;

/** Sessions checked per run of the job, at most. */
const BATCH = 20;
/** Rejections that are about our account, the rate or the way to the provider, and not about the person. */
const NOT_ABOUT_PERSON: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 425, 429]);
const GROUP_TYPE = ASSET_GROUP_TYPES[1];
/** Name of a group whose session has none. */
const DEFAULT_NAME = 'Real person';

export class SessionChecker {
  readonly #services: CheckServices;
  readonly #rates: AccountRates;

  constructor(services: CheckServices) {
    this.#services = services;
    this.#rates = new AccountRates(services.clock, () => SESSION_CHECKS.perSecond);
  }

  /** Asks about the sessions that are due. Returns how many there were. */
  async run(): Promise<number> {
    const due = await takeDue(this.#services.db);
    for (const session of due) await this.#checkSafely(session);
    return due.length;
  }

  /** The browser came back on the secret path of a session; undefined when no session has it. */
  async onReturn(secret: string) {
    if (!/^[\w-]{32}$/.test(secret)) return undefined;
    const { db } = this.#services;
    const hash = hashReturnSecret(secret);
    const noted = await noteReturn(db, hash);
    if (noted) await this.#checkSafely(noted);
    const session = await firstRow(db)<SessionRow>`
      select ${COLUMNS} from authorization_sessions where return_token_hash = ${hash}`;
    return session && { status: sessionStatusOf(session), redirectUrl: session.redirect_url ?? undefined };
  }

  /** One session must not keep the others from being checked. */
  async #checkSafely(session: SessionRow): Promise<void> {
    try {
      await this.#check(session);
    } catch (error) {
      this.#services.log.warn('session.check_failed', { session: session.id, ...errorFields(error) });
    }
  }

  async #check(session: SessionRow): Promise<void> {
    const { db, assetProvider, sealer, log } = this.#services;
    const account = accountOf(this.#services, session);
    const { id, upstream_token_sealed: sealed } = session;
    if (!account || sealed === null) return;
    if (this.#rates.available(account.id) < 1) return changeOpen(db, session, CHECKED_SOON);
    this.#rates.take(account.id);
    const outcome = await assetProvider(account).getValidation(sealer.open(sealed, tokenLocation(id)));
    if (outcome.kind === 'found') {
      const isCompleted = await complete(db, session, outcome.value.groupId);
      if (isCompleted) log.info('session.completed', { session: id });
    }
    // `missing` is not an outcome: the provider has none yet, or the result was read before.
    if (outcome.kind !== 'failed') return;
    const { status, retryAfter } = outcome;
    if (status === 429) this.#rates.pause(account.id, retryAfter);
    if (status === undefined || status < 400 || status >= 500 || NOT_ABOUT_PERSON.has(status)) return;
    await changeOpen(db, session, sql`status = 'failed', ${ENDED}`);
    log.info('session.failed', { session: id, status });
  }
}

/**
 * Takes sessions by moving their next check, so that no other worker asks at the same time.
 * The last check is before they expire.
 */
async function takeDue(db: Db): Promise<readonly SessionRow[]> {
  const { pendingSeconds, verifyingSeconds, lastSeconds } = SESSION_CHECKS;
  const delays = sql.raw(`(array[${verifyingSeconds.join(',')}])`);
  return allRows(db)<SessionRow>`
    with due as materialized (
      select user_id, id from authorization_sessions
      where next_check_at <= now() and ${IS_OPEN}
      order by next_check_at limit ${BATCH} for update skip locked)
    update authorization_sessions s set check_attempts = s.check_attempts + 1, checked_at = now(),
      next_check_at = least(
        now() + interval '1 second' * case when s.status = 'pending' then ${pendingSeconds}
          else ${delays}[least(s.check_attempts + 1, ${verifyingSeconds.length})] end,
        case when now() < s.expires_at - ${lastSeconds} * interval '1 second'
          then s.expires_at - ${lastSeconds} * interval '1 second' else s.expires_at end)
    from due where s.user_id = due.user_id and s.id = due.id
    returning s.*, false as is_overdue`;
}

/**
 * Marks the return. Undefined when the provider need not be asked: the session has ended, or was checked a moment ago.
 */
async function noteReturn(db: Db, hash: Buffer): Promise<SessionRow | undefined> {
  const { returnSeconds, verifyingSeconds } = SESSION_CHECKS;
  return firstRow(db)<SessionRow>`
    update authorization_sessions set status = 'verifying', checked_at = now(),
      updated_at = case when status = 'pending' then now() else updated_at end,
      check_attempts = case when status = 'pending' then 0 else check_attempts end,
      next_check_at = least(now() + ${verifyingSeconds[0]} * interval '1 second', expires_at)
    where return_token_hash = ${hash} and ${IS_OPEN}
      and (status = 'pending' or checked_at is null or checked_at <= now() - ${returnSeconds} * interval '1 second')
    returning ${COLUMNS}`;
}

async function changeOpen(db: Db, { user_id, id }: SessionRow, changes: RawBuilder<unknown>): Promise<void> {
  await sql`
    update authorization_sessions set ${changes} where user_id = ${user_id} and id = ${id} and ${IS_OPEN}`.execute(db);
}

/** When the account has no request left in this second. */
const CHECKED_SOON = sql`next_check_at = least(now() + interval '2 seconds', expires_at)`;

/** False when the session has ended meanwhile. */
const complete = (db: Db, { user_id, id }: SessionRow, upstreamId: string): Promise<boolean> =>
  db.transaction().execute(async (tx) => {
    const session = await firstRow(tx)<SessionRow>`
      select ${COLUMNS} from authorization_sessions
      where user_id = ${user_id} and id = ${id} and ${IS_OPEN} for update`;
    if (!session) return false;
    const groupId = (await findGroupOf(tx, session, upstreamId))?.id ?? (await insertGroup(tx, session, upstreamId));
    await changeOpen(tx, session, sql`status = 'completed', asset_group_id = ${groupId}, ${ENDED}`);
    return true;
  });

/** Token and link are of no use after the outcome. */
const ENDED = sql`upstream_token_sealed = null, link_sealed = null, next_check_at = null, updated_at = now()`;

/** The user's own group of the same person, from an earlier session. */
const findGroupOf = (tx: Db, { user_id, account_id }: SessionRow, upstreamId: string) =>
  firstRow(tx)<{ id: string }>`
    select id from asset_groups
    where user_id = ${user_id} and account_id = ${account_id} and upstream_id = ${upstreamId}
      and group_type = ${GROUP_TYPE} and status = 'active'
    limit 1 for share`;

async function insertGroup(tx: Db, session: SessionRow, upstreamId: string): Promise<string> {
  const { user_id, group_id, variant, account_id, name, description } = session;
  const id = newId('assetgrp');
  await tx
    .insertInto('asset_groups')
    .values({
      user_id,
      id,
      group_id,
      variant,
      account_id,
      name: name === '' ? DEFAULT_NAME : name,
      description,
      group_type: GROUP_TYPE,
      status: 'active',
      upstream_id: upstreamId,
    })
    .execute();
  return id;
}

/** A real-person authorization session as a row, the queries that find it, and its public object (V 2). */
export type SessionRow = Row<'authorization_sessions'> & {
  /** Its time is over, by the clock of the database. */
  readonly is_overdue: boolean;
};

export type SessionName = Pick<SessionRow, 'user_id' | 'id'>;

export const COLUMNS = sql`*, expires_at <= now() as is_overdue`;
/** The session has no outcome yet, and its time is not over. */
const IS_OPEN = sql<boolean>`
  status in ('pending', 'verifying') and upstream_token_sealed is not null and expires_at > now()`;

export const hashReturnSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();
export const tokenLocation = (id: string) => `authorization_sessions.upstream_token:${id}` as const;
export const linkLocation = (id: string) => `authorization_sessions.link:${id}` as const;

/** Any other id cannot exist. */
export const isSessionId = (id: string): boolean => /^authsess_[A-Za-z0-9]{1,64}$/.test(id);

/** Undefined alike for missing and foreign sessions: one query, so that a response cannot differ. */
export const findSession = (db: Db, { user_id, id }: SessionName): Promise<SessionRow | undefined> =>
  firstRow(db)<SessionRow>`
    select ${COLUMNS} from authorization_sessions
    where user_id = ${user_id} and id = ${id}
      and (status <> 'pending' or upstream_token_sealed is not null)`;

/** A session is expired from `expires_at` on, also before a job writes that down. */
export const sessionStatusOf = ({ status, is_overdue }: SessionRow): SessionStatus =>
  is_overdue && (status === 'pending' || status === 'verifying') ? 'expired' : (status as SessionStatus);

/** The public object. The link is shown in the given statuses only: it is of no use after the browser has opened it. */
export function sessionView(
  { sealer, catalog }: Pick<VideoServices, 'sealer' | 'catalog'>,
  session: SessionRow,
  linkIn: readonly SessionStatus[],
): object {
  const { id, link_sealed: link, asset_group_id: groupId } = session;
  const status = sessionStatusOf(session);
  return {
    id,
    object: 'asset.authorization_session',
    status,
    ...(link !== null && linkIn.includes(status) && { authorization_url: sealer.open(link, linkLocation(id)) }),
    ...(groupId !== null && { asset_group_id: groupId }),
    ...(status === 'failed' && { error: SESSION_ERROR }),
    route_group_id: session.group_id,
    route_group_name: catalog().group(session.group_id)?.name ?? '',
    expires_at: unixSeconds(session.expires_at),
    created_at: unixSeconds(session.created_at),
    updated_at: unixSeconds(session.updated_at),
  };
}
