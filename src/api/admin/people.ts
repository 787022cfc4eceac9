/**
 * People who sign in to the console: list, invite, change, new link, end of sessions. A link is only in the response
 * that creates it.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import type { Actor } from '../../access/keys/index.ts';
import * as people from '../../access/people/index.ts';
import { failAt, formatNanos, parseNanos } from '../../core/index.ts';
import type { Row, Tx } from '../../platform/db/index.ts';
import { PERSON_ROLES } from '../../rules/index.ts';
import { type InvitedPerson, NewPerson, PersonChange } from '../../schemas/index.ts';
import { addCredit } from './credits.ts';
import { operation } from './handler.ts';
import { listOperation } from './list.ts';
import { param } from './query-params.ts';
import { expectChange } from './request-body.ts';
import { addUser } from './users.ts';

type PaidUser = NonNullable<z.output<typeof NewPerson>['new_user']>;

/** The user of the invited person, with the first credit. */
async function addPaidUser(tx: Tx, { credit, ...user }: PaidUser, by: Actor): Promise<void> {
  await addUser(tx, user, by, 'new_user.');
  const nanos = parseNanos(credit ?? '0') ?? 0n;
  if (nanos === 0n) return;
  const booking = { user: user.id, amount: formatNanos(nanos), kind: 'payment', reason: 'invitation' } as const;
  await addCredit(tx, { ...booking, reference: `invitation:${user.id}` }, nanos, by);
}

const invitedView = ({ person, link }: people.Invited, publicUrl: string): InvitedPerson => ({
  ...people.personView(person),
  object: 'person',
  link: people.linkUrl(publicUrl, link),
  link_expires_at: link.expiresAt.toISOString(),
});

export const PEOPLE_OPERATIONS = {
  'admin.people': listOperation({
    filters: { role: z.enum(PERSON_ROLES).describe('with this role').optional(), user: param.user },
    order: 'id',
    from: sql<Row<'people'>>`select * from people`,
    view: people.personView,
  }),
  'admin.invitePerson': operation({
    body: NewPerson,
    status: 201,
    async handle({ by, body }, { db, clock, publicUrl }) {
      const { new_user: added, ...person } = body;
      if (added && person.user !== undefined)
        throw failAt('invalid_request', 'user', 'found it beside new_user; send one of them.');
      const name = person.name ?? person.email.split('@')[0] ?? '';
      const invitation = { ...person, name, user: added?.id ?? person.user ?? null };
      const prepare = added && ((tx: Tx) => addPaidUser(tx, added, by));
      const invited = await people.invitePerson(db, invitation, { by, now: clock.now(), prepare });
      return invitedView(invited, publicUrl());
    },
  }),
  'admin.changePerson': operation({
    body: PersonChange,
    object: 'person',
    async handle({ id, by, body }, { db, clock }) {
      expectChange(body);
      return people.personView(await people.changePerson(db, id, body, { by, now: clock.now() }));
    },
  }),
  'admin.resetPerson': operation({
    body: z.strictObject({}),
    handle: async ({ id, by }, { db, clock, publicUrl }) =>
      invitedView(await people.resetPerson(db, id, { by, now: clock.now() }), publicUrl()),
  }),
  'admin.signOutPerson': operation({
    body: z.strictObject({}),
    object: 'person',
    handle: async ({ id, by }, { db, clock }) =>
      people.personView(await people.signOutPerson(db, id, { by, now: clock.now() })),
  }),
};
