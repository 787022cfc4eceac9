/** Callbacks of video tasks: their state, their attempts, and test events. */
import { z } from 'zod';
import { CALLBACK_STATES } from '../rules/index.ts';
import { flag, integer, kind, list, moment, named, seconds, someInteger, someMoment, someText, text } from './field.ts';

export const ShownCallbackAttempt = z.strictObject({
  attempt: integer,
  at: moment,
  status: someInteger,
  error: someText,
  duration_ms: integer,
});
export type ShownCallbackAttempt = z.infer<typeof ShownCallbackAttempt>;

export const ShownCallback = named('Callback', {
  ...kind('callback'),
  id: text,
  user: text,
  task: text,
  version: integer,
  host: text,
  state: z.enum(CALLBACK_STATES),
  attempts: integer,
  last_status: someInteger,
  last_error: someText,
  next_attempt_at: someMoment,
  created_at: moment,
  finished_at: someMoment,
  url: text.describe('without the values of its query').optional(),
  body: text.describe('as it is signed and sent').optional(),
  attempt_log: list(ShownCallbackAttempt).optional(),
});
export type ShownCallback = z.infer<typeof ShownCallback>;

/** A callback as its owner sees it. */
export const CallerCallback = named('CallerCallback', {
  id: text,
  object: z.literal('callback'),
  task_id: text,
  url: text,
  state: z.enum(CALLBACK_STATES),
  attempts: integer,
  last_status: someInteger.describe('HTTP status of the receiver at the last attempt'),
  last_error: someText.describe('why the last attempt was no delivery'),
  next_attempt_at: seconds.nullable(),
  created_at: seconds,
  finished_at: seconds.nullable(),
  request: z
    .strictObject({ method: z.literal('POST'), body: text })
    .describe('the body as it is signed and sent; the timestamp and the signature are new for every attempt')
    .optional(),
  attempt_log: list(
    z.strictObject({ attempt: integer, at: seconds, status: someInteger, error: someText, duration_ms: integer }),
  ).optional(),
});
export type CallerCallback = z.infer<typeof CallerCallback>;

export const CallerCallbackTest = named('CallerCallbackTest', {
  object: z.literal('callback_test'),
  id: text,
  task_id: text,
  delivered: flag,
  status: someInteger,
  error: someText,
  duration_ms: integer,
});

export const CallbackTest = named('CallbackTest', {
  object: z.literal('callback_test'),
  id: text,
  user: text,
  task: text,
  host: text,
  delivered: flag,
  status: someInteger,
  error: someText,
  duration_ms: integer,
});
export type CallbackTest = z.infer<typeof CallbackTest>;
