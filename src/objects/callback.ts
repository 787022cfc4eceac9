/** Callbacks of video tasks: their state, their attempts, and test events. */
import { z } from 'zod';
import { CALLBACK_STATES } from '../rules/index.ts';
import { flag, integer, kind, list, moment, someInteger, someMoment, someText, text } from './field.ts';

const ShownCallbackAttempt = z.strictObject({
  attempt: integer,
  at: moment,
  status: someInteger,
  error: someText,
  duration_ms: integer,
});
export type ShownCallbackAttempt = z.infer<typeof ShownCallbackAttempt>;

export const ShownCallback = z
  .strictObject({
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
    attempt_log: list(ShownCallbackAttempt).optional(),
  })
  .meta({ id: 'Callback' });
export type ShownCallback = z.infer<typeof ShownCallback>;

export const CallbackTest = z
  .strictObject({
    object: z.literal('callback_test'),
    id: text,
    user: text,
    task: text,
    host: text,
    delivered: flag,
    status: someInteger,
    error: someText,
    duration_ms: integer,
  })
  .meta({ id: 'CallbackTest' });
export type CallbackTest = z.infer<typeof CallbackTest>;
