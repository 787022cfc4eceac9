/** People who sign in to the console: list, invite, change, new link, end of sessions. A link is only in the response that creates it. */
import { z } from 'zod';
import type { Actor } from '../../access/keys/index.ts';
import {
  changePerson,
  type Invited,
  invitePerson,
  linkUrl,
  personView,
  resetPerson,
  signOutPerson,
} from '../../access/people/index.ts';
import { fail, formatNanos, parseNanos } from '../../core/index.ts';
import { snapshot, type Tx } from '../../platform/db/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { PERSON_ROLES } from '../../rules/index.ts';
import { type InvitedPerson, NewPerson, PersonChange } from '../../schemas/index.ts';
import { addCredit } from './credits.ts';
import { operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { param } from './query-params.ts';
import { addUser, NOTHING_TO_UPDATE } from './users.ts';

const PeopleQuery = z.strictObject({
  role: z.enum(PERSON_ROLES).describe('with this role').optional(),
  user: param.user,
  ...pageParams(rowKey.text),
});

export const listPeople = operation({
  query: PeopleQuery,
  async handle({ call, query: { role, user, limit, cursor } }, { db }) {
    const rows = await snapshot(db, (tx) => {
      let find = tx
        .selectFrom('people')
        .selectAll()
        .orderBy('id')
        .limit(limit + 1);
      if (cursor) find = find.where('id', '>', cursor[0]);
      if (role !== undefined) find = find.where('role', '=', role);
      if (user !== undefined) find = find.where('user_id', '=', user);
      return find.execute();
    });
    sendPage(call, rows, { limit, view: personView, key: ({ id }) => [id] });
  },
});

export const invitePersonOperation = operation({
  body: NewPerson,
  async handle({ call, by, body }, { db, clock, publicUrl }) {
    const { new_user: added, ...person } = body;
    if (added && person.user !== undefined)
      throw fail('invalid_request', 'user: found it beside new_user; send one of them.', { param: 'user' });
    const name = person.name ?? person.email.split('@')[0] ?? '';
    const invitation = { ...person, name, user: added?.id ?? person.user ?? null };
    const prepare = added && ((tx: Tx) => addPaidUser(tx, added, by));
    const invited = await invitePerson(db, invitation, { by, now: clock.now(), prepare });
    sendJson(call, 201, invitedView(invited, publicUrl()));
  },
});

/** The user of the invited person, with the first credit. */
async function addPaidUser(
  tx: Tx,
  { credit, ...user }: NonNullable<z.output<typeof NewPerson>['new_user']>,
  by: Actor,
): Promise<void> {
  await addUser(tx, user, by, 'new_user.');
  const nanos = parseNanos(credit ?? '0') ?? 0n;
  if (nanos === 0n) return;
  const booking = { user: user.id, amount: formatNanos(nanos), kind: 'payment', reason: 'invitation' } as const;
  await addCredit(tx, { ...booking, reference: `invitation:${user.id}` }, nanos, by);
}

const invitedView = ({ person, link }: Invited, publicUrl: string): InvitedPerson => ({
  ...personView(person),
  object: 'person',
  link: linkUrl(publicUrl, link),
  link_expires_at: link.expiresAt.toISOString(),
});

export const changePersonOperation = operation({
  body: PersonChange,
  async handle({ call, by, body }, { db, clock }) {
    if (Object.values(body).every((value) => value === undefined)) throw fail('invalid_request', NOTHING_TO_UPDATE);
    const person = await changePerson(db, call.params.person ?? '', body, { by, now: clock.now() });
    sendJson(call, 200, { object: 'person', ...personView(person) });
  },
});

export const resetPersonOperation = operation({
  body: z.strictObject({}),
  async handle({ call, by }, { db, clock, publicUrl }) {
    const invited = await resetPerson(db, call.params.person ?? '', { by, now: clock.now() });
    sendJson(call, 200, invitedView(invited, publicUrl()));
  },
});

export const signOutPersonOperation = operation({
  body: z.strictObject({}),
  async handle({ call, by }, { db, clock }) {
    const person = await signOutPerson(db, call.params.person ?? '', { by, now: clock.now() });
    sendJson(call, 200, { object: 'person', ...personView(person) });
  },
});
