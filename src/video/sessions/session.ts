/** A real-person authorization session as a row, the queries that find it, and its public object (V 2). */
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Catalog } from '../../catalog/index.ts';
import { type Sealer, unixSeconds } from '../../core/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import { SESSION_ERROR, type SessionStatus } from '../../rules/index.ts';

export type SessionRow = Row<'authorization_sessions'> & {
  /** Its time is over, by the clock of the database. */
  readonly is_overdue: boolean;
};

export type SessionName = Pick<SessionRow, 'user_id' | 'id'>;

export const COLUMNS = sql`*, expires_at <= now() as is_overdue`;
/** The session has no outcome yet, and its time is not over. */
export const IS_OPEN = sql<boolean>`status in ('pending', 'verifying') and upstream_token_sealed is not null and expires_at > now()`;

export const hashReturnSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();
export const tokenLocation = (id: string) => `authorization_sessions.upstream_token:${id}` as const;
export const linkLocation = (id: string) => `authorization_sessions.link:${id}` as const;

/** Any other id cannot exist. */
export const isSessionId = (id: string): boolean => /^authsess_[A-Za-z0-9]{1,64}$/.test(id);

/** Undefined alike for missing and foreign sessions: one query, so that a response cannot differ. */
export async function findSession(db: Db, { user_id, id }: SessionName): Promise<SessionRow | undefined> {
  const { rows } = await sql<SessionRow>`
    select ${COLUMNS} from authorization_sessions
    where user_id = ${user_id} and id = ${id} and (status <> 'pending' or upstream_token_sealed is not null)`.execute(
    db,
  );
  return rows[0];
}

/** A session is expired from `expires_at` on, also before a job writes that down. */
export const sessionStatusOf = ({ status, is_overdue }: SessionRow): SessionStatus =>
  is_overdue && (status === 'pending' || status === 'verifying') ? 'expired' : (status as SessionStatus);

interface ViewServices {
  readonly sealer: Sealer;
  readonly catalog: () => Catalog;
}

/** The public object. The link is shown in the given statuses only: it is of no use after the browser has opened it. */
export function sessionView(
  { sealer, catalog }: ViewServices,
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
