/**
 * One-time links: for the first operator, for invitations and for new passwords. A person has at most one, stored as a
 * hash.
 */
import { sql } from 'kysely';
import { fail, failAt, hmac } from '../../core/index.ts';
import { ADVISORY_LOCK, type Db, firstRow, type Row } from '../../platform/db/index.ts';
import { LINK_MS, type LinkPurpose } from '../../rules/index.ts';
import { hasOperator, insertPerson, lockPerson, type PersonRow } from './person.ts';
import { beginSession, hashToken, isToken, type NewSession, newToken, storePassword } from './sessions.ts';

export interface CreatedLink {
  /** Shown once; it is not stored. */
  readonly token: string;
  readonly expiresAt: Date;
}

/** The token is in the fragment, which browsers send to no server: no log and no referrer holds it. */
export const linkUrl = (publicUrl: string, { token }: CreatedLink): string => `${publicUrl}/console/link#${token}`;

interface LinkTarget {
  /** Null for the first operator. */
  readonly personId: string | null;
  readonly purpose: LinkPurpose;
  readonly now: number;
  /** By the end of the link; random by default. */
  readonly tokenOf?: (expiresAt: Date) => string;
}

export async function createLink(
  tx: Db,
  { personId, purpose, now, tokenOf = newToken }: LinkTarget,
): Promise<CreatedLink> {
  const expiresAt = new Date(now + LINK_MS[purpose]);
  const token = tokenOf(expiresAt);
  const columns = { token_hash: hashToken(token), purpose, created_at: new Date(now), expires_at: expiresAt };
  await tx
    .insertInto('person_links')
    .values({ person_id: personId, ...columns })
    .onConflict((conflict) => conflict.column('person_id').doUpdateSet(columns))
    .execute();
  return { token, expiresAt };
}

interface FirstLink {
  readonly now: number;
  /** The token is derived from it, so that every replica can show the link, and nothing that is stored opens it. */
  readonly pepper: Buffer;
  readonly isShared?: boolean;
}

/** A link with less time left is replaced. */
const USEFUL_MS = 3_600_000;

/** Undefined when an operator exists. */
export const createFirstLink = (
  db: Db,
  { now, pepper, isShared = false }: FirstLink,
): Promise<CreatedLink | undefined> =>
  db.transaction().execute(async (tx) => {
    if (await hasOperator(tx)) return undefined;
    const tokenOf = (expiresAt: Date): string =>
      hmac(pepper, `first-link:${expiresAt.toISOString()}`).toString('base64url');
    // Of replicas that start together, the first creates it.
    await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK})`.execute(tx);
    const stored = isShared
      ? await tx.selectFrom('person_links').selectAll().where('person_id', 'is', null).executeTakeFirst()
      : undefined;
    const token = stored && tokenOf(stored.expires_at);
    if (stored && token && stored.expires_at.getTime() > now + USEFUL_MS && hashToken(token).equals(stored.token_hash))
      return { token, expiresAt: stored.expires_at };
    return createLink(tx, { personId: null, purpose: 'first', now, tokenOf });
  });

export interface LinkView {
  readonly purpose: LinkPurpose;
  readonly name: string | null;
  readonly email: string | null;
}

/** Undefined for unknown, used and expired links. */
export async function readLink(db: Db, token: string, now: number): Promise<LinkView | undefined> {
  const link = await findLink(db, token, now);
  if (!link) return undefined;
  const { person_id: id, purpose } = link;
  const { rows } = await sql<{ name: string; email: string }>`select name, email from people where id = ${id}`.execute(
    db,
  );
  return { purpose: purpose as LinkPurpose, name: rows[0]?.name ?? null, email: rows[0]?.email ?? null };
}

async function findLink(db: Db, token: string, now: number): Promise<Row<'person_links'> | undefined> {
  if (!isToken(token)) return undefined;
  return firstRow(db)<Row<'person_links'>>`
    select * from person_links where token_hash = ${hashToken(token)} and expires_at > ${new Date(now)}`;
}

export interface LinkUse {
  readonly token: string;
  readonly passwordHash: string;
  readonly name: string | undefined;
  readonly email: string | undefined;
  readonly now: number;
  readonly requestId: string;
  readonly address: string;
}

/**
 * Sets the password, ends other sessions and begins one; once per link. Locks the person before the link, as
 * everywhere.
 */
export const redeemLink = (db: Db, use: LinkUse): Promise<NewSession> =>
  db.transaction().execute(async (tx) => {
    const link = await findLink(tx, use.token, use.now);
    const before = link?.person_id ? await lockPerson(tx, link.person_id) : undefined;
    const { numDeletedRows } = await tx
      .deleteFrom('person_links')
      .where('token_hash', '=', hashToken(use.token))
      .executeTakeFirst();
    if (!link || numDeletedRows === 0n) throw fail('invalid_link');
    const person = before ? await setPassword(tx, before, use) : await createFirstOperator(tx, use);
    return beginSession(tx, person, use.now);
  });

/** Of two requests one deletes the link, and that one creates the operator. */
async function createFirstOperator(tx: Db, use: LinkUse): Promise<PersonRow> {
  if (await hasOperator(tx)) throw fail('invalid_link');
  const { name, email, passwordHash, requestId, address } = use;
  for (const [param, value] of Object.entries({ name, email }))
    if (value === undefined) throw failAt('invalid_request', param, 'is required; send it.');
  const operator = { name: name ?? '', email: email ?? '', role: 'operator', password_hash: passwordHash };
  const person = await insertPerson(tx, operator, { requestId, address });
  // A person of a user may have the address already.
  if (!person) throw failAt('conflict', 'email', 'another person has this address; use another one.');
  return person;
}

async function setPassword(tx: Db, { id, disabled_at }: PersonRow, use: LinkUse): Promise<PersonRow> {
  if (disabled_at) throw fail('invalid_link');
  const { passwordHash, name, requestId, address } = use;
  return storePassword(tx, { id, passwordHash, name, by: { actor: `person:${id}`, requestId, address } });
}
