/** People as rows and as the admin API shows them. */
import { newId, notFound } from '../../core/index.ts';
import type { Db, Row } from '../../platform/db/index.ts';
import type { PersonRole } from '../../rules/index.ts';
import { ShownPerson, shownRow } from '../../schemas/index.ts';
import { type Actor, writeAudit } from '../keys/index.ts';

export type PersonRow = Row<'people'>;

export interface Person {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly userId: string | null;
}

export const toPerson = ({ id, email, name, role, user_id }: PersonRow): Person => ({
  id,
  email,
  name,
  role: role as PersonRole,
  userId: user_id,
});

function personState({ disabled_at, password_hash, oidc_subject }: PersonRow): ShownPerson['state'] {
  if (disabled_at) return 'disabled';
  return password_hash || oidc_subject ? 'active' : 'invited';
}

export const personView = (row: PersonRow): ShownPerson =>
  shownRow(ShownPerson, row, {
    state: personState(row),
    oidc: row.oidc_subject !== null,
  });

export const normalEmail = (text: string): string => text.trim().normalize('NFC').toLowerCase();

export const findPersonByEmail = (db: Db, email: string): Promise<PersonRow | undefined> =>
  db.selectFrom('people').selectAll().where('email', '=', normalEmail(email)).executeTakeFirst();

/** With the audit line; `by` is the person without an actor. Undefined when another person has the address. */
export async function insertPerson(
  tx: Db,
  person: Pick<PersonRow, 'email' | 'name' | 'role'> & Partial<PersonRow>,
  by: Partial<Actor>,
): Promise<PersonRow | undefined> {
  const id = newId('person');
  const row = await tx
    .insertInto('people')
    .values({ ...person, id, email: normalEmail(person.email) })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .returningAll()
    .executeTakeFirst();
  const subject = `person:${id}` as const;
  if (row)
    await writeAudit(tx, { actor: subject, ...by }, { action: 'person.created', subject, after: personView(row) });
  return row;
}

export async function lockPerson(tx: Db, id: string): Promise<PersonRow> {
  const row = await tx.selectFrom('people').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
  if (!row) throw notFound('person', id);
  return row;
}

/** Whether there is no operator yet. Read until there is one: the last operator can be neither disabled nor removed. */
export function firstRunCheck(db: Db): () => Promise<boolean> {
  let isOver = false;
  return async () => {
    isOver ||= await hasOperator(db);
    return !isOver;
  };
}

/** A new installation has none; the first one comes by a link that the start prints. */
export async function hasOperator(db: Db): Promise<boolean> {
  const row = await db.selectFrom('people').select('id').where('role', '=', 'operator').limit(1).executeTakeFirst();
  return row !== undefined;
}
