/**
 * Warnings of one owner: rules, destinations and notices. The operators have theirs here, and each user in the console.
 */
import { z } from 'zod';
import { writeAudit } from '../../access/keys/index.ts';
import * as store from '../../observe/warnings/index.ts';
import { DestinationChange, NewDestination, NewWarning, WarningChange } from '../../schemas/index.ts';
import { type AdminServices, type OperationHandler, type Operator, operationsOf } from './handler.ts';
import { pageParams, rowKey, sendPage, wholeList } from './pagination.ts';
import { expectChange } from './request-body.ts';

interface WarningCaller extends Operator {
  /** Whose warnings they are: a user, or `OPERATORS`. */
  readonly userId: string;
}
type WarningServices = Pick<AdminServices, 'db' | 'secrets' | 'warnings'>;

const operation = operationsOf<WarningCaller, WarningServices>();

/** Rows hold their subjects and deliveries. */
const MAX_PAGE = 200;

/** `params` are those of every list, beside its own. */
export const warningOperations = (params: z.ZodRawShape) => ({
  warnings: operation({
    query: z.strictObject(params),
    handle: async ({ userId }, { db }) => wholeList((await store.listWarnings(db, userId)).map(store.warningView)),
  }),
  createWarning: operation({
    body: NewWarning,
    status: 201,
    object: 'warning',
    handle: ({ by, userId: owner, body }, { db }) => store.createWarning(db, body, { owner, by }),
  }),
  changeWarning: operation({
    body: WarningChange,
    object: 'warning',
    handle({ id, by, userId: owner, body }, { db }) {
      expectChange(body);
      return store.changeWarning(db, id, body, { owner, by });
    },
  }),
  deleteWarning: operation({
    async handle({ id, by, userId: owner }, { db }) {
      await store.deleteWarning(db, id, { owner, by });
      return { object: 'warning', id, deleted: true };
    },
  }),
  destinations: operation({
    query: z.strictObject(params),
    handle: async ({ userId }, { db, warnings }) =>
      wholeList((await store.listDestinations(db, userId)).map(store.destinationView), { mail: warnings.hasMail }),
  }),
  createDestination: operation({
    body: NewDestination,
    status: 201,
    object: 'warning_destination',
    handle: ({ by, userId: owner, body }, { db, warnings }) =>
      store.createDestination(db, body, { owner, by, ...warnings }),
  }),
  changeDestination: operation({
    body: DestinationChange,
    object: 'warning_destination',
    handle({ id, by, userId: owner, body }, { db }) {
      expectChange(body);
      return store.changeDestination(db, id, body, { owner, by });
    },
  }),
  deleteDestination: operation({
    async handle({ id, by, userId: owner }, { db }) {
      await store.deleteDestination(db, id, { owner, by });
      return { object: 'warning_destination', id, deleted: true };
    },
  }),
  /** Waits for the outcome, at most a few steps of ten seconds. */
  testDestination: operation({
    body: z.strictObject({}),
    async handle({ id, by, userId }, { db, warnings }) {
      const outcome = await warnings.test(userId, id);
      const { delivered, status, error } = outcome;
      const after = { ...(userId !== store.OPERATORS && { user: userId }), delivered, status, error };
      await writeAudit(db, by, { action: 'destination.tested', subject: `destination:${id}`, after });
      return outcome;
    },
  }),
  notices: operation({
    query: z.strictObject({ ...pageParams(rowKey.timeAndId, MAX_PAGE), ...params }),
    async handle({ call, userId, query: { limit, cursor } }, { db }) {
      const rows = await store.listNotices(db, userId, { limit, after: cursor });
      sendPage(call, rows, { limit, view: store.noticeView, key: ({ created, id }) => [created, id] });
    },
  }),
});

type Name = keyof ReturnType<typeof warningOperations>;

const forOperators = (handler: OperationHandler<WarningCaller, WarningServices>): OperationHandler => ({
  ...handler,
  run: (call, { by }, services) => handler.run(call, { by, userId: store.OPERATORS }, services),
});

export const WARNINGS_OPERATIONS = Object.fromEntries(
  Object.entries(warningOperations({})).map(([name, handler]) => [`admin.${name}`, forOperators(handler)]),
) as Record<`admin.${Name}`, OperationHandler>;
