/** What the admin API returns about video: tasks, assets and callbacks of all users. */
import { ASSET_STATUSES, ASSET_TYPES, CALLBACK_STATES, SESSION_STATUSES, TASK_STATUSES } from '../rules/index.ts';
import { USD } from './operator-money.ts';
import {
  ANY_OBJECT,
  arrayOf,
  BOOLEAN,
  described,
  INTEGER,
  json,
  MONEY,
  nullable,
  object,
  orNull,
  pageSchema,
  ref,
  type Schema,
  type SchemaMembers,
  TEXT,
  TIME,
  wordOf,
} from './schema.ts';

const SOME_TEXT = nullable('string');

const AUTHORIZATION: SchemaMembers = {
  id: TEXT,
  name: TEXT,
  status: wordOf(SESSION_STATUSES),
  asset_group_id: SOME_TEXT,
  route_group_id: TEXT,
  route_group_name: TEXT,
  expires_at: TIME,
  created_at: TIME,
  updated_at: TIME,
};

export const OPERATOR_VIDEO_SCHEMAS: Readonly<Record<string, Schema>> = {
  OwnAuthorization: object(AUTHORIZATION),
  OperatorAuthorization: object({ ...AUTHORIZATION, user: TEXT, account: TEXT }),
  OperatorTask: object(
    {
      id: TEXT,
      user: TEXT,
      key: TEXT,
      group: TEXT,
      account: SOME_TEXT,
      upstream_task: SOME_TEXT,
      model: TEXT,
      status: wordOf(TASK_STATUSES),
      submission: wordOf(['pending', 'sending', 'confirmed', 'unknown']),
      progress: INTEGER,
      error: orNull(ANY_OBJECT),
      parameters: described('as reported, else as requested', ANY_OBJECT),
      tokens: nullable('integer'),
      has_last_frame: BOOLEAN,
      hold: orNull(
        object({ state: wordOf(['held', 'review', 'settled', 'released']), held: MONEY, charged: orNull(MONEY) }),
      ),
      in_review: BOOLEAN,
      callback_host: SOME_TEXT,
      created_at: TIME,
      updated_at: TIME,
      finished_at: orNull(TIME),
    },
    { object: { const: 'task' }, ...USD, assets: arrayOf(TEXT) },
  ),
  OperatorAsset: object({
    id: TEXT,
    user: TEXT,
    name: TEXT,
    asset_type: wordOf(ASSET_TYPES),
    status: wordOf(ASSET_STATUSES),
    group_id: SOME_TEXT,
    route_group_name: TEXT,
    account: TEXT,
    failure: SOME_TEXT,
    created_at: TIME,
    updated_at: TIME,
  }),
  Callback: object(
    {
      id: TEXT,
      user: TEXT,
      task: TEXT,
      version: INTEGER,
      host: TEXT,
      state: wordOf(CALLBACK_STATES),
      attempts: INTEGER,
      last_status: nullable('integer'),
      last_error: SOME_TEXT,
      next_attempt_at: orNull(TIME),
      created_at: TIME,
      finished_at: orNull(TIME),
    },
    {
      object: { const: 'callback' },
      attempt_log: arrayOf(
        object({
          attempt: INTEGER,
          at: TIME,
          status: nullable('integer'),
          error: SOME_TEXT,
          duration_ms: INTEGER,
        }),
      ),
    },
  ),
  CallbackTest: object({
    object: { const: 'callback_test' },
    id: TEXT,
    user: TEXT,
    task: TEXT,
    host: TEXT,
    delivered: BOOLEAN,
    status: nullable('integer'),
    error: SOME_TEXT,
    duration_ms: INTEGER,
  }),
};

export const OPERATOR_VIDEO_RESPONSES = {
  'admin.tasks': { 200: json('A page of tasks, newest first', pageSchema('OperatorTask', USD)) },
  'admin.task': { 200: json('The task', ref('OperatorTask')) },
  'admin.assets': { 200: json('A page of assets, newest first', pageSchema('OperatorAsset')) },
  'admin.authorizations': { 200: json('A page of sessions, newest first', pageSchema('OperatorAuthorization')) },
  'admin.callbacks': { 200: json('A page of callbacks, newest first', pageSchema('Callback')) },
  'admin.callback': { 200: json('The callback with its attempts', ref('Callback')) },
  'admin.redeliverCallback': { 202: json('The callback, which is delivered again', ref('Callback')) },
  'admin.testCallback': { 200: json('The outcome, also of a failed delivery', ref('CallbackTest')) },
} as const;
