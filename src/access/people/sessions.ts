/**
 * Sessions as rows. A token of 256 random bits is stored as its hash; its CSRF token derives from it
 * (docs/adr/0017-sessions.md).
 */
import { hash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { type Db, deleteBatch, firstRow } from '../../platform/db/index.ts';
import { SESSION_MS } from '../../rules/index.ts';
import { type Actor, writeAudit } from '../keys/index.ts';
import { type Person, type PersonRow, toPerson } from './person.ts';

export interface Session {
  readonly person: Person;
  /** Scripts of other origins cannot read it, so that a request with it comes from the console. */
  readonly csrf: string;
  readonly tokenHash: Buffer;
}

/** Of one person. The oldest ends when a further one begins. */
const MAX_SESSIONS = 20;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export const newToken = (): string => randomBytes(32).toString('base64url');
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer');
export const isToken = (text: string): boolean => TOKEN.test(text);

const csrfOf = (token: string): string => hash('sha256', `csrf:${token}`, 'base64url');

export interface NewSession {
  readonly token: string;
  readonly session: Session;
}

/** Begins a session. Call it in the transaction that checked the person. */
export async function beginSession(tx: Db, row: PersonRow, now: number): Promise<NewSession> {
  const token = newToken();
  const tokenHash = hashToken(token);
  const [begun, end] = [new Date(now), new Date(now + SESSION_MS.total)];
  await sql`
    insert into person_sessions (token_hash, person_id, created_at, seen_at, expires_at)
    values (${tokenHash}, ${row.id}, ${begun}, ${begun}, ${end})`.execute(tx);
  await sql`update people set signed_in_at = ${begun} where id = ${row.id}`.execute(tx);
  await sql`
    delete from person_sessions where token_hash in (
      select token_hash from person_sessions where person_id = ${row.id}
      order by created_at desc, token_hash offset ${MAX_SESSIONS})`.execute(tx);
  return { token, session: { person: toPerson(row), csrf: csrfOf(token), tokenHash } };
}

/**
 * Undefined for unknown and ended sessions, and for those of disabled people. Read for every request, so that a change
 * applies at once.
 */
export async function findPersonSession(db: Db, token: string, now: number): Promise<Session | undefined> {
  if (!isToken(token)) return undefined;
  const tokenHash = hashToken(token);
  const row = await firstRow(db)<PersonRow & { readonly seen_at: Date }>`
    select p.*, s.seen_at from person_sessions s join people p on p.id = s.person_id
    where s.token_hash = ${tokenHash} and s.expires_at > ${new Date(now)}
      and s.seen_at > ${new Date(now - SESSION_MS.idle)} and p.disabled_at is null`;
  if (!row) return undefined;
  if (now - row.seen_at.getTime() > SESSION_MS.touch)
    await sql`update person_sessions set seen_at = ${new Date(now)} where token_hash = ${tokenHash}`.execute(db);
  return { person: toPerson(row), csrf: csrfOf(token), tokenHash };
}

export async function endSession(db: Db, { tokenHash }: Pick<Session, 'tokenHash'>): Promise<void> {
  await db.deleteFrom('person_sessions').where('token_hash', '=', tokenHash).execute();
}

export async function endSessions(db: Db, personId: string): Promise<void> {
  await db.deleteFrom('person_sessions').where('person_id', '=', personId).execute();
}

interface PasswordChange {
  readonly id: string;
  readonly passwordHash: string;
  readonly name?: string | undefined;
  readonly by: Actor;
}

/** All sessions of the person end, and a link that was not used. */
export async function storePassword(tx: Db, { id, passwordHash, name, by }: PasswordChange): Promise<PersonRow> {
  const person = await tx
    .updateTable('people')
    .set({ password_hash: passwordHash, ...(name !== undefined && { name }) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await endSessions(tx, id);
  await tx.deleteFrom('person_links').where('person_id', '=', id).execute();
  await writeAudit(tx, by, { action: 'person.password_changed', subject: `person:${id}` });
  return person;
}

export async function expireSignIns(db: Db, now: number): Promise<number> {
  const isOver = sql`expires_at <= ${new Date(now)}`;
  const isIdle = sql`seen_at <= ${new Date(now - SESSION_MS.idle)}`;
  const sessions = await deleteBatch(db, 'person_sessions', sql`${isOver} or ${isIdle}`);
  return sessions + (await deleteBatch(db, 'person_links', isOver));
}
