/** Warnings of the signed-in person's user, about the wallet and keys of this user. */
import { z } from 'zod';
import {
  deletedView,
  expectChange,
  NoticesQuery,
  param,
  readJson,
  readQuery,
  sendDestinations,
  sendNotices,
  sendWarnings,
} from '../admin/index.ts';
import { writeAudit } from '../identity/index.ts';
import { DestinationChange, NewDestination, NewWarning, WarningChange } from '../objects/index.ts';
import { personActor } from '../people/index.ts';
import {
  changeDestination,
  changeWarning,
  createDestination,
  createWarning,
  deleteDestination,
  deleteWarning,
} from '../warnings/index.ts';
import { type Call, sendJson } from '../web/index.ts';
import type { ConsoleServices, Owner } from './services.ts';

const ListQuery = z.strictObject({ user: param.user });
const OwnNoticesQuery = NoticesQuery.extend({ user: param.user });
const NO_QUERY = z.strictObject({});
const NO_BODY = z.strictObject({});

const actorOf = (call: Call, { userId, session }: Owner) => ({ owner: userId, by: personActor(call, session) });

export async function listOwnWarnings({ db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  readQuery(call.query, ListQuery);
  await sendWarnings(call, db, userId);
}

export async function createOwnWarning({ db }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, NO_QUERY);
  const view = await createWarning(db, await readJson(call, NewWarning), actorOf(call, owner));
  sendJson(call, 201, { object: 'warning', ...view });
}

export async function changeOwnWarning({ db }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, NO_QUERY);
  const body = await readJson(call, WarningChange);
  expectChange(body);
  const view = await changeWarning(db, call.params.warning ?? '', body, actorOf(call, owner));
  sendJson(call, 200, { object: 'warning', ...view });
}

export async function deleteOwnWarning({ db }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, NO_QUERY);
  const id = call.params.warning ?? '';
  await deleteWarning(db, id, actorOf(call, owner));
  sendJson(call, 200, deletedView('warning', id));
}

export async function listOwnDestinations(
  { db, warnings }: ConsoleServices,
  call: Call,
  { userId }: Owner,
): Promise<void> {
  readQuery(call.query, ListQuery);
  await sendDestinations(call, db, userId, warnings);
}

export async function createOwnDestination({ db, warnings }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, NO_QUERY);
  const body = await readJson(call, NewDestination);
  const view = await createDestination(db, body, { ...actorOf(call, owner), ...warnings });
  sendJson(call, 201, { object: 'warning_destination', ...view });
}

export async function changeOwnDestination({ db }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, NO_QUERY);
  const body = await readJson(call, DestinationChange);
  expectChange(body);
  const view = await changeDestination(db, call.params.destination ?? '', body, actorOf(call, owner));
  sendJson(call, 200, { object: 'warning_destination', ...view });
}

export async function deleteOwnDestination({ db }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, NO_QUERY);
  const id = call.params.destination ?? '';
  await deleteDestination(db, id, actorOf(call, owner));
  sendJson(call, 200, deletedView('warning_destination', id));
}

export async function testOwnDestination({ db, warnings }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, NO_QUERY);
  await readJson(call, NO_BODY);
  const outcome = await warnings.test(owner.userId, call.params.destination ?? '');
  const { id, delivered, status, error } = outcome;
  const after = { user: owner.userId, delivered, status, error };
  await writeAudit(db, actorOf(call, owner).by, {
    action: 'destination.tested',
    subject: `destination:${id}`,
    after,
  });
  sendJson(call, 200, outcome);
}

export async function listOwnNotices({ db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  await sendNotices(call, db, userId, readQuery(call.query, OwnNoticesQuery));
}

export const OWN_WARNING_SCHEMAS = {
  'console.warnings': { query: ListQuery },
  'console.createWarning': { query: NO_QUERY, body: NewWarning },
  'console.changeWarning': { query: NO_QUERY, body: WarningChange },
  'console.destinations': { query: ListQuery },
  'console.createDestination': { query: NO_QUERY, body: NewDestination },
  'console.changeDestination': { query: NO_QUERY, body: DestinationChange },
  'console.testDestination': { query: NO_QUERY, body: NO_BODY },
  'console.notices': { query: OwnNoticesQuery },
};
