/** Video tasks: as callers see them (V 2, V 4.7), and as operators do, never with a prompt or media. */
import { z } from 'zod';
import { TASK_ERROR_CODES, TASK_STATUSES, VARIANT_SHEETS } from '../rules/index.ts';
import {
  anyObject,
  dollars,
  flag,
  integer,
  kind,
  moment,
  named,
  seconds,
  someDollars,
  someInteger,
  someMoment,
  someText,
  text,
  texts,
  USD,
} from './field.ts';

export const taskUsage = z
  .strictObject({ completion_tokens: integer.optional(), total_tokens: integer.optional() })
  .describe('as the provider reported it, in part or as a whole; absent otherwise, never estimated');

const ONLY_SOME = Object.fromEntries(
  Object.values(VARIANT_SHEETS)
    .flatMap(({ taskFields }) => taskFields)
    .map((name) => [name, integer.optional()]),
);

export const shownTaskError = z.strictObject({ code: z.enum(TASK_ERROR_CODES), message: text, type: text }).nullable();

const TaskHold = z.strictObject({
  state: z.enum(['held', 'review', 'settled', 'released']),
  held: dollars,
  charged: someDollars,
});
export type TaskHold = z.infer<typeof TaskHold>;

const TaskCharge = TaskHold.extend({
  ...USD,
  tokens: someInteger.describe('that were charged'),
  price: someText.describe('the price that was in force'),
  rate: someDollars.describe('of that price, per million tokens, before multipliers'),
});
export type TaskCharge = z.infer<typeof TaskCharge>;
export const taskCharge = TaskCharge.nullable().describe(
  'what the task holds or was charged; only with `include=charge`',
);

export const CallerTask = named('Task', {
  id: text,
  model: text,
  status: z.enum(TASK_STATUSES),
  progress: z.int().min(0).max(100),
  error: shownTaskError,
  created_at: seconds,
  updated_at: seconds,
  content: z
    .strictObject({ video_url: text, last_frame_url: text.optional() })
    .describe('only after success')
    .optional(),
  usage: taskUsage.optional(),
  duration: integer.describe('seconds; absent until it is known').optional(),
  resolution: text.optional(),
  ratio: text.optional(),
  ...ONLY_SOME,
  generate_audio: flag.describe('as reported, as requested, or the default').optional(),
  watermark: flag.optional(),
  return_last_frame: flag.optional(),
  parameters: anyObject
    .describe('every parameter in effect: as reported, as requested, or the default; only with `include=parameters`')
    .optional(),
  charge: taskCharge.optional(),
});
export type CallerTask = z.infer<typeof CallerTask>;

/** Links that need no key. */
export const ResultLinks = named('ResultLinks', {
  object: z.literal('video.links'),
  video_url: text,
  last_frame_url: text.optional(),
  expires_at: seconds,
});

/** With its money, for the people of the user. */
export const OwnTask = CallerTask.extend({ hold: TaskHold.nullable() }).meta({ id: 'OwnTask' });
export type OwnTask = z.infer<typeof OwnTask>;

export const OperatorTask = named('OperatorTask', {
  ...kind('task'),
  currency: USD.currency.optional(),
  id: text,
  user: text,
  key: text,
  group: text,
  account: someText,
  upstream_task: someText,
  model: text,
  status: z.enum(TASK_STATUSES),
  submission: z.enum(['pending', 'sending', 'confirmed', 'unknown']),
  progress: integer,
  error: z.looseObject({ code: text.optional(), message: text.optional() }).nullable(),
  parameters: anyObject.describe('as reported, else as requested'),
  tokens: someInteger,
  has_last_frame: flag,
  hold: TaskHold.nullable(),
  in_review: flag,
  callback_host: someText,
  created_at: moment,
  updated_at: moment,
  finished_at: someMoment,
  assets: texts.optional(),
});
export type OperatorTask = z.infer<typeof OperatorTask>;

type Observed = 'id' | 'model' | 'status' | 'progress' | 'error' | 'parameters' | 'tokens' | 'has_last_frame';
type Times = 'created_at' | 'updated_at' | 'finished_at';
/** As an operator or a person of the user reads it. */
export type ReadTask = Pick<OperatorTask, Observed | Times> & Partial<OperatorTask>;

/** What the creation of a task would hold: tokens × price per million × multipliers. */
export const TaskEstimate = named('TaskEstimate', {
  object: z.literal('task_estimate'),
  ...USD,
  model: text,
  max_cost: dollars.describe('what the creation holds; the task is charged by the usage that the provider reports'),
  tokens: integer.describe('pixels × frames / 1024, of the largest result'),
  pixels: integer.describe('of the largest picture that the request allows'),
  frames: integer.describe('24 per second of output and of input video, and one more'),
  price: dollars.describe('per million tokens, of the dearest resolution that the request allows'),
  multipliers: z.array(dollars).describe('of the service group and of the user'),
});
export type TaskEstimate = z.infer<typeof TaskEstimate>;

/** A task whose charge is not known, so that an operator decides about its hold. */
export const Review = named('Review', {
  task: text,
  user: text,
  model: text,
  account: someText,
  upstream_task: someText,
  held: dollars,
  tokens: someInteger,
  reported: someText.describe('the usage as the provider reported it, where it cannot be believed'),
  created_at: moment,
  finished_at: someMoment,
  asked_until: moment,
});
export type Review = z.infer<typeof Review>;

/** A task of the provider that may be the one of a submission whose outcome is unknown. */
export const SubmissionCandidate = z.strictObject({
  upstream_task: text,
  status: text,
  created_at: moment,
  parameters: anyObject.describe('as the provider reported them'),
  differs: texts.describe('parameters that contradict the request'),
});
export type SubmissionCandidate = z.infer<typeof SubmissionCandidate>;

/** A task that was sent and not found at its provider for certain, so that an operator decides which of the candidates is its own. */
export const OpenSubmission = named('OpenSubmission', {
  task: text,
  user: text,
  model: text,
  account: someText,
  held: dollars,
  parameters: anyObject.describe('as requested'),
  created_at: moment,
  decide_until: moment.describe('then the task expires and its amount is released'),
  candidates: z.array(SubmissionCandidate),
});
export type OpenSubmission = z.infer<typeof OpenSubmission>;

export const DecidedSubmission = named('DecidedSubmission', {
  object: z.literal('submission'),
  task: text,
  user: text,
  outcome: z.enum(['assigned', 'dismissed']),
  upstream_task: text.optional(),
});

export const SettledReview = named('ResolvedReview', {
  object: z.literal('review'),
  ...USD,
  task: text,
  user: text,
  outcome: z.enum(['released', 'charged']),
  charge: dollars,
  tokens: integer.optional(),
});
