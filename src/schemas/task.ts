/** Video tasks: as callers see them (V 2, V 4.7), and as operators do, never with a prompt or media. */
import { z } from 'zod';
import { PRICE_UNITS, TASK_ERROR_CODES, TASK_STATUSES, VARIANT_SHEETS } from '../rules/index.ts';
import * as f from './field.ts';

export const taskUsage = z
  .strictObject({ completion_tokens: f.integer.optional(), total_tokens: f.integer.optional() })
  .describe('as the provider reported it, in part or as a whole; absent otherwise, never estimated');

const ONLY_SOME = Object.fromEntries(
  Object.values(VARIANT_SHEETS)
    .flatMap(({ taskFields }) => taskFields)
    .map((name) => [name, f.integer.optional()]),
);

export const shownTaskError = z
  .strictObject({ code: z.enum(TASK_ERROR_CODES), message: f.text, type: f.text })
  .nullable();

const TaskHold = z.strictObject({
  state: z.enum(['held', 'review', 'settled', 'released']),
  held: f.dollars,
  charged: f.someDollars,
});
export type TaskHold = z.infer<typeof TaskHold>;

const TaskCharge = TaskHold.extend({
  ...f.USD,
  unit: z.enum(PRICE_UNITS).optional().describe('what `rate` is for, if not for a million tokens: a second or a video'),
  tokens: f.someInteger
    .optional()
    .describe('that were charged; null with another unit; lists do not show it, nor what follows'),
  count: f.someInteger.optional().describe('what was charged, in `unit`'),
  price: f.someText.optional().describe('the price that was in force'),
  rate: f.someDollars.optional().describe('of that price, before multipliers'),
});
export type TaskCharge = z.infer<typeof TaskCharge>;
export const taskCharge = TaskCharge.nullable().describe(
  'what the task holds or was charged; only with `include=charge`',
);

export const CallerTask = f.named('Task', {
  id: f.text,
  model: f.text,
  status: z.enum(TASK_STATUSES),
  progress: z.int().min(0).max(100),
  error: shownTaskError,
  created_at: f.seconds,
  updated_at: f.seconds,
  content: z
    .strictObject({ video_url: f.text, last_frame_url: f.text.optional() })
    .describe('only after success')
    .optional(),
  usage: taskUsage.optional(),
  duration: f.integer.describe('seconds; absent until it is known').optional(),
  resolution: f.text.optional(),
  ratio: f.text.optional(),
  ...ONLY_SOME,
  generate_audio: f.flag.describe('as reported, as requested, or the default').optional(),
  watermark: f.flag.optional(),
  return_last_frame: f.flag.optional(),
  result_expires_at: f.seconds
    .nullable()
    .describe('with `include=expiry`: until when the results of a success can be read at least')
    .optional(),
  label: f.text.describe('the name that the caller gave the task').optional(),
  parameters: f.anyObject
    .describe('every parameter in effect: as reported, as requested, or the default; only with `include=parameters`')
    .optional(),
  charge: taskCharge.optional(),
});

/** Links that need no key. */
export const ResultLinks = f.named('ResultLinks', {
  object: z.literal('video.links'),
  video_url: f.text,
  last_frame_url: f.text.optional(),
  expires_at: f.seconds,
});

/** With its money, for the people of the user. */
export const OwnTask = CallerTask.extend({ hold: TaskHold.nullable() }).meta({ id: 'OwnTask' });
export type OwnTask = z.infer<typeof OwnTask>;

export const OperatorTask = f.named('OperatorTask', {
  ...f.kind('task'),
  currency: f.USD.currency.optional(),
  id: f.text,
  user: f.text,
  key: f.text,
  group: f.text,
  account: f.someText,
  upstream_task: f.someText,
  model: f.text,
  status: z.enum(TASK_STATUSES),
  submission: z.enum(['pending', 'sending', 'confirmed', 'unknown']),
  progress: f.integer,
  error: z.looseObject({ code: f.text.optional(), message: f.text.optional() }).nullable(),
  parameters: f.anyObject.describe('as reported, else as requested'),
  tokens: f.someInteger,
  has_last_frame: f.flag,
  hold: TaskHold.nullable(),
  in_review: f.flag,
  callback_host: f.someText,
  created_at: f.moment,
  updated_at: f.moment,
  finished_at: f.someMoment,
  assets: f.texts.optional(),
});
export type OperatorTask = z.infer<typeof OperatorTask>;

type Observed = 'id' | 'model' | 'status' | 'progress' | 'error' | 'parameters' | 'tokens' | 'has_last_frame';
type Times = 'created_at' | 'updated_at' | 'finished_at';
/** As an operator or a person of the user reads it. */
export type ReadTask = Pick<OperatorTask, Observed | Times> & Partial<OperatorTask>;

/** What the creation of a task would hold: tokens × price per million × multipliers. */
export const TaskEstimate = f.named('TaskEstimate', {
  object: z.literal('task_estimate'),
  ...f.USD,
  model: f.text,
  max_cost: f.dollars.describe('what the creation holds; the task is charged by the usage that the provider reports'),
  unit: z
    .enum(PRICE_UNITS)
    .optional()
    .describe('what `price` is for, if not for a million tokens: a second or a video'),
  count: f.integer.optional().describe('of that unit, at most'),
  tokens: f.integer.describe('pixels × frames / 1024, of the largest result; 0 with another unit'),
  pixels: f.integer.describe('of the largest picture that the request allows'),
  frames: f.integer.describe('24 per second of output and of input video, and one more'),
  price: f.dollars.describe(
    'per million tokens, per second or per video, of the dearest resolution that the request allows',
  ),
  multipliers: z.array(f.dollars).describe('of the service group and of the user'),
});
export type TaskEstimate = z.infer<typeof TaskEstimate>;

/** A task whose charge is not known, so that an operator decides about its hold. */
export const Review = f.named('Review', {
  task: f.text,
  user: f.text,
  model: f.text,
  account: f.someText,
  upstream_task: f.someText,
  held: f.dollars,
  tokens: f.someInteger,
  reported: f.someText.describe('the usage as the provider reported it, where it cannot be believed'),
  created_at: f.moment,
  finished_at: f.someMoment,
  asked_until: f.moment,
});
export type Review = z.infer<typeof Review>;

/** A task of the provider that may be the one of a submission whose outcome is unknown. */
export const SubmissionCandidate = z.strictObject({
  upstream_task: f.text,
  status: f.text,
  created_at: f.moment,
  parameters: f.anyObject.describe('as the provider reported them'),
  differs: f.texts.describe('parameters that contradict the request'),
});
export type SubmissionCandidate = z.infer<typeof SubmissionCandidate>;

/**
 * A task that was sent and not found at its provider for certain, so that an operator decides which of the candidates
 * is its own.
 */
export const OpenSubmission = f.named('OpenSubmission', {
  task: f.text,
  user: f.text,
  model: f.text,
  account: f.someText,
  held: f.dollars,
  parameters: f.anyObject.describe('as requested'),
  created_at: f.moment,
  decide_until: f.moment.describe('then the task expires and its amount is released'),
  candidates: z.array(SubmissionCandidate),
});
export type OpenSubmission = z.infer<typeof OpenSubmission>;

export const DecidedSubmission = f.named('DecidedSubmission', {
  object: z.literal('submission'),
  task: f.text,
  user: f.text,
  outcome: z.enum(['assigned', 'dismissed']),
  upstream_task: f.text.optional(),
});

export const SettledReview = f.named('ResolvedReview', {
  object: z.literal('review'),
  ...f.USD,
  task: f.text,
  user: f.text,
  outcome: z.enum(['released', 'charged']),
  charge: f.dollars,
  tokens: f.integer.optional(),
});
