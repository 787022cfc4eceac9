/**
 * Operations on people for operators: checks, change, end of sessions and audit line in one transaction. Used by the
 * admin API and the CLI.
 */
import { sql } from 'kysely';
import { fail, failAt } from '../../core/index.ts';
import type { Db, Tx } from '../../platform/db/index.ts';
import type { PersonRole } from '../../rules/index.ts';
import type { PersonChange } from '../../schemas/index.ts';
import { type Actor, writeAudit } from '../keys/index.ts';
import { type CreatedLink, createLink } from './links.ts';
import { insertPerson, lockPerson, type PersonRow, personView } from './person.ts';
import { endSessions } from './sessions.ts';

interface PeopleContext {
  readonly by: Actor;
  readonly now: number;
}

export interface Invitation {
  readonly email: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly user: string | null;
}

export interface Invited {
  readonly person: PersonRow;
  readonly link: CreatedLink;
}

interface InvitationContext extends PeopleContext {
  /** Creates the user of the person first, in the same transaction. */
  readonly prepare?: ((tx: Tx) => Promise<void>) | undefined;
}

export const invitePerson = (
  db: Db,
  invitation: Invitation,
  { prepare, ...context }: InvitationContext,
): Promise<Invited> =>
  db.transaction().execute(async (tx) => {
    await prepare?.(tx);
    await checkUser(tx, invitation.role, invitation.user);
    const invited = await addPerson(tx, invitation, context);
    if (!invited)
      throw failAt('conflict', 'email', 'a person with this address exists; create a new link for them instead.');
    return invited;
  });

/** In a transaction of the caller. Undefined when a person with this address exists. */
export async function addPerson(
  tx: Tx,
  { email, name, role, user }: Invitation,
  { by, now }: PeopleContext,
): Promise<Invited | undefined> {
  const person = await insertPerson(tx, { email, name, role, user_id: user }, by);
  return person && { person, link: await createLink(tx, { personId: person.id, purpose: 'invite', now }) };
}

async function checkUser(tx: Db, role: PersonRole, user: string | null): Promise<void> {
  if (user === null) {
    if (role === 'operator') return;
    throw failAt('invalid_request', 'user', 'is required for the role user; name the user whose keys the person sees.');
  }
  const known = await tx.selectFrom('users').select('id').where('id', '=', user).executeTakeFirst();
  if (!known) throw failAt('object_not_found', 'user', `there is no user "${user.slice(0, 80)}".`);
}

/** A new link for the person: a new password, or the invitation again. */
export const resetPerson = (db: Db, id: string, { by, now }: PeopleContext): Promise<Invited> =>
  db.transaction().execute(async (tx) => {
    const person = await lockPerson(tx, id);
    if (person.disabled_at) throw fail('conflict', 'The person is disabled; enable them first.');
    const purpose = person.password_hash === null ? 'invite' : 'reset';
    const link = await createLink(tx, { personId: id, purpose, now });
    await writeAudit(tx, by, { action: 'person.link_created', subject: `person:${id}` });
    return { person, link };
  });

/**
 * Another role begins with a new sign-in. The user is read for every request, so that a change of it applies at once.
 */
export const changePerson = (
  db: Db,
  id: string,
  change: PersonChange,
  { by, now }: PeopleContext,
): Promise<PersonRow> =>
  db.transaction().execute(async (tx) => {
    await lockOperators(tx);
    const before = await lockPerson(tx, id);
    const role = change.role ?? (before.role as PersonRole);
    const user = change.user === undefined ? before.user_id : change.user;
    const isDisabled = change.disabled ?? before.disabled_at !== null;
    await checkUser(tx, role, user);
    const columns = {
      name: change.name ?? before.name,
      role,
      user_id: user,
      disabled_at: isDisabled ? (before.disabled_at ?? new Date(now)) : null,
    };
    await tx.updateTable('people').set(columns).where('id', '=', id).execute();
    const after = { ...before, ...columns };
    if (isActiveOperator(before) && !isActiveOperator(after)) await expectOtherOperator(tx);
    if (role !== before.role || isDisabled) await endSessions(tx, id);
    if (isDisabled) await tx.deleteFrom('person_links').where('person_id', '=', id).execute();
    const lines = { before: personView(before), after: personView(after) };
    await writeAudit(tx, by, { action: 'person.changed', subject: `person:${id}`, ...lines });
    return after;
  });

const isActiveOperator = ({ role, disabled_at }: PersonRow): boolean => role === 'operator' && disabled_at === null;

/** Serialises changes of operators: of two that disable each other, one is rejected. */
const lockOperators = (tx: Db) =>
  tx.selectFrom('people').select('id').where('role', '=', 'operator').orderBy('id').forUpdate().execute();

async function expectOtherOperator(tx: Db): Promise<void> {
  const { rows } = await sql`select from people where role = 'operator' and disabled_at is null limit 1`.execute(tx);
  if (rows.length === 0) throw fail('conflict', 'This is the last operator who can sign in; invite another one first.');
}

export const signOutPerson = (db: Db, id: string, { by }: PeopleContext): Promise<PersonRow> =>
  db.transaction().execute(async (tx) => {
    const person = await lockPerson(tx, id);
    await endSessions(tx, id);
    await writeAudit(tx, by, { action: 'person.signed_out', subject: `person:${id}` });
    return person;
  });
