/** Callbacks of video tasks: their state, their attempts, and test events. */
import { z } from 'zod';
import { CALLBACK_STATES, CALLBACK_TYPES } from '../rules/index.ts';
import * as f from './field.ts';

export const ShownCallbackAttempt = z.strictObject({
  attempt: f.integer,
  at: f.moment,
  status: f.someInteger,
  error: f.someText,
  duration_ms: f.integer,
});
export type ShownCallbackAttempt = z.infer<typeof ShownCallbackAttempt>;

export const ShownCallback = f.named('Callback', {
  ...f.kind('callback'),
  id: f.text,
  user: f.text,
  task: f.text,
  version: f.integer,
  host: f.text,
  state: z.enum(CALLBACK_STATES),
  attempts: f.integer,
  last_status: f.someInteger,
  last_error: f.someText,
  next_attempt_at: f.someMoment,
  created_at: f.moment,
  finished_at: f.someMoment,
  url: f.text.describe('without the values of its query').optional(),
  body: f.text.describe('as it is signed and sent').optional(),
  attempt_log: f.list(ShownCallbackAttempt).optional(),
});
export type ShownCallback = z.infer<typeof ShownCallback>;

/** A callback as its owner sees it. */
export const CallerCallback = f.named('CallerCallback', {
  id: f.text,
  object: z.literal('callback'),
  task_id: f.text,
  url: f.text,
  state: z.enum(CALLBACK_STATES),
  attempts: f.integer,
  last_status: f.someInteger.describe('HTTP status of the receiver at the last attempt'),
  last_error: f.someText.describe('why the last attempt was no delivery'),
  next_attempt_at: f.seconds.nullable(),
  created_at: f.seconds,
  finished_at: f.seconds.nullable(),
  request: z
    .strictObject({ method: z.literal('POST'), body: f.text })
    .describe('the body as it is signed and sent; the timestamp and the signature are new for every attempt')
    .optional(),
  attempt_log: f.list(ShownCallbackAttempt.extend({ at: f.seconds })).optional(),
});
export type CallerCallback = z.infer<typeof CallerCallback>;

export const CallbackDefault = f.named('CallbackDefault', {
  object: z.literal('callback_default'),
  url: f.text.describe('of tasks that are created without one'),
  events: z.array(z.enum(CALLBACK_TYPES)).describe('that are sent'),
  updated_at: f.seconds,
});
export type CallbackDefault = z.infer<typeof CallbackDefault>;

export const CallerCallbackTest = f.named('CallerCallbackTest', {
  object: z.literal('callback_test'),
  id: f.text,
  task_id: f.text,
  delivered: f.flag,
  status: f.someInteger,
  error: f.someText,
  duration_ms: f.integer,
});

export const CallbackTest = f.named('CallbackTest', {
  object: z.literal('callback_test'),
  id: f.text,
  user: f.text,
  task: f.text,
  host: f.text,
  delivered: f.flag,
  status: f.someInteger,
  error: f.someText,
  duration_ms: f.integer,
});
export type CallbackTest = z.infer<typeof CallbackTest>;
