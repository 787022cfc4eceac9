/** Warnings of one owner: rules, destinations and notices. The operators have theirs here, and each user in the console. */
import { z } from 'zod';
import { writeAudit } from '../../access/keys/index.ts';
import { fail } from '../../core/index.ts';
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
  warningView,
} from '../../observe/warnings/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { DestinationChange, NewDestination, NewWarning, WarningChange } from '../../schemas/index.ts';
import { type AdminServices, type OperationHandler, type Operator, operationsOf } from './handler.ts';
import { pageParams, rowKey, sendPage } from './pagination.ts';
import { NOTHING_TO_UPDATE } from './users.ts';

interface WarningCaller extends Operator {
  /** Whose warnings they are: a user, or `OPERATORS`. */
  readonly userId: string;
}
type WarningServices = Pick<AdminServices, 'db' | 'warnings'>;

const operation = operationsOf<WarningCaller, WarningServices>();

/** Rows hold their subjects and deliveries. */
const MAX_PAGE = 200;

/** `params` are those of every list, beside its own. */
export const warningOperations = (params: z.ZodRawShape) => ({
  list: operation({
    query: z.strictObject(params),
    async handle({ call, userId }, { db }) {
      const rows = await listWarnings(db, userId);
      sendPage(call, rows, whole(rows, warningView));
    },
  }),
  create: operation({
    body: NewWarning,
    async handle({ call, by, userId: owner, body }, { db }) {
      sendJson(call, 201, { object: 'warning', ...(await createWarning(db, body, { owner, by })) });
    },
  }),
  change: operation({
    body: WarningChange,
    async handle({ call, by, userId: owner, body }, { db }) {
      expectChange(body);
      const view = await changeWarning(db, call.params.warning ?? '', body, { owner, by });
      sendJson(call, 200, { object: 'warning', ...view });
    },
  }),
  delete: operation({
    async handle({ call, by, userId: owner }, { db }) {
      const id = call.params.warning ?? '';
      await deleteWarning(db, id, { owner, by });
      sendJson(call, 200, { object: 'warning', id, deleted: true });
    },
  }),
  listDestinations: operation({
    query: z.strictObject(params),
    async handle({ call, userId }, { db, warnings }) {
      const rows = await listDestinations(db, userId);
      sendPage(call, rows, whole(rows, destinationView, { mail: warnings.hasMail }));
    },
  }),
  createDestination: operation({
    body: NewDestination,
    async handle({ call, by, userId: owner, body }, { db, warnings }) {
      const view = await createDestination(db, body, { owner, by, ...warnings });
      sendJson(call, 201, { object: 'warning_destination', ...view });
    },
  }),
  changeDestination: operation({
    body: DestinationChange,
    async handle({ call, by, userId: owner, body }, { db }) {
      expectChange(body);
      const view = await changeDestination(db, call.params.destination ?? '', body, { owner, by });
      sendJson(call, 200, { object: 'warning_destination', ...view });
    },
  }),
  deleteDestination: operation({
    async handle({ call, by, userId: owner }, { db }) {
      const id = call.params.destination ?? '';
      await deleteDestination(db, id, { owner, by });
      sendJson(call, 200, { object: 'warning_destination', id, deleted: true });
    },
  }),
  /** Waits for the outcome, at most a few steps of ten seconds. */
  testDestination: operation({
    body: z.strictObject({}),
    async handle({ call, by, userId }, { db, warnings }) {
      const outcome = await warnings.test(userId, call.params.destination ?? '');
      const { id, delivered, status, error } = outcome;
      const after = { ...(userId !== OPERATORS && { user: userId }), delivered, status, error };
      await writeAudit(db, by, { action: 'destination.tested', subject: `destination:${id}`, after });
      sendJson(call, 200, outcome);
    },
  }),
  listNotices: operation({
    query: z.strictObject({ ...pageParams(rowKey.timeAndId, MAX_PAGE), ...params }),
    async handle({ call, userId, query: { limit, cursor } }, { db }) {
      const rows = await listNotices(db, userId, { limit, after: cursor });
      sendPage(call, rows, { limit, view: noticeView, key: ({ created, id }) => [created, id] });
    },
  }),
});

/** All on one page. */
const whole = <T extends { readonly id: string }>(rows: readonly T[], view: (row: T) => object, more?: object) => ({
  limit: rows.length,
  view,
  key: ({ id }: T) => [id],
  more,
});

const expectChange = (body: object): void => {
  if (Object.values(body).every((value) => value === undefined)) throw fail('invalid_request', NOTHING_TO_UPDATE);
};

export const WARNINGS = warningOperations({});

export const forOperators = (handler: OperationHandler<WarningCaller, WarningServices>): OperationHandler => ({
  ...handler,
  run: (call, { by }, services) => handler.run(call, { by, userId: OPERATORS }, services),
});
