/** Warnings of the operators: rules, destinations and notices. The console shows those of a user in the same way. */
import { z } from 'zod';
import { fail } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { writeAudit } from '../identity/index.ts';
import { DestinationChange, NewDestination, NewWarning, WarningChange } from '../objects/index.ts';
import {
  changeDestination,
  changeWarning,
  createDestination,
  createWarning,
  deleteDestination,
  deleteWarning,
  destinationView,
  listDestinations,
  listNotices,
  listWarnings,
  noticeView,
  OPERATORS,
  type Warnings,
  warningView,
} from '../warnings/index.ts';
import { type Call, sendJson } from '../web/index.ts';
import { operation } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { NOTHING_TO_UPDATE } from './users.ts';

const owner = OPERATORS;

/** All on one page. */
const whole = <T extends { readonly id: string }>(rows: readonly T[], view: (row: T) => object, more?: object) => ({
  limit: rows.length,
  view,
  key: ({ id }: T) => [id],
  more,
});

export const sendWarnings = async (call: Call, db: Db, user: string): Promise<void> => {
  const rows = await listWarnings(db, user);
  sendPage(call, rows, whole(rows, warningView));
};

export const sendDestinations = async (call: Call, db: Db, user: string, { hasMail }: Warnings): Promise<void> => {
  const rows = await listDestinations(db, user);
  sendPage(call, rows, whole(rows, destinationView, { mail: hasMail }));
};

/** Rows hold their subjects and deliveries. */
const MAX_PAGE = 200;
export const NoticesQuery = z.strictObject(pageParams(rowKey.timeAndId, MAX_PAGE));

export const sendNotices = async (
  call: Call,
  db: Db,
  user: string,
  { limit, cursor }: z.output<typeof NoticesQuery>,
): Promise<void> => {
  const rows = await listNotices(db, user, { limit, after: cursor });
  sendPage(call, rows, { limit, view: noticeView, key: ({ created, id }) => [created, id] });
};

export const deletedView = (object: 'warning' | 'warning_destination', id: string) => ({ object, id, deleted: true });

export const expectChange = (body: object): void => {
  if (Object.values(body).every((value) => value === undefined)) throw fail('invalid_request', NOTHING_TO_UPDATE);
};

export const listWarningsOperation = operation({ handle: ({ call }, { db }) => sendWarnings(call, db, owner) });

export const createWarningOperation = operation({
  body: NewWarning,
  async handle({ call, by, body }, { db }) {
    sendJson(call, 201, { object: 'warning', ...(await createWarning(db, body, { owner, by })) });
  },
});

export const changeWarningOperation = operation({
  body: WarningChange,
  async handle({ call, by, body }, { db }) {
    expectChange(body);
    const view = await changeWarning(db, call.params.warning ?? '', body, { owner, by });
    sendJson(call, 200, { object: 'warning', ...view });
  },
});

export const deleteWarningOperation = operation({
  async handle({ call, by }, { db }) {
    const id = call.params.warning ?? '';
    await deleteWarning(db, id, { owner, by });
    sendJson(call, 200, deletedView('warning', id));
  },
});

export const listDestinationsOperation = operation({
  handle: ({ call }, { db, warnings }) => sendDestinations(call, db, owner, warnings),
});

export const createDestinationOperation = operation({
  body: NewDestination,
  async handle({ call, by, body }, { db, warnings }) {
    const view = await createDestination(db, body, { owner, by, ...warnings });
    sendJson(call, 201, { object: 'warning_destination', ...view });
  },
});

export const changeDestinationOperation = operation({
  body: DestinationChange,
  async handle({ call, by, body }, { db }) {
    expectChange(body);
    const view = await changeDestination(db, call.params.destination ?? '', body, { owner, by });
    sendJson(call, 200, { object: 'warning_destination', ...view });
  },
});

export const deleteDestinationOperation = operation({
  async handle({ call, by }, { db }) {
    const id = call.params.destination ?? '';
    await deleteDestination(db, id, { owner, by });
    sendJson(call, 200, deletedView('warning_destination', id));
  },
});

/** Waits for the outcome, at most a few steps of ten seconds. */
export const testDestinationOperation = operation({
  body: z.strictObject({}),
  async handle({ call, by }, { db, warnings }) {
    const outcome = await warnings.test(owner, call.params.destination ?? '');
    const { id, delivered, status, error } = outcome;
    const after = { delivered, status, error };
    await writeAudit(db, by, { action: 'destination.tested', subject: `destination:${id}`, after });
    sendJson(call, 200, outcome);
  },
});

export const listNoticesOperation = operation({
  query: NoticesQuery,
  handle: ({ call, query }, { db }) => sendNotices(call, db, owner, query),
});
