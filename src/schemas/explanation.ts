/**
 * The plan of a call that is not sent: the ways to serve it, what is left out and why, its maximum cost, and what its
 * caller would get.
 */
import { z } from 'zod';
import { UPSTREAM_DIALECTS } from '../rules/index.ts';
import * as f from './field.ts';

const CallerError = z.strictObject({ status: f.integer, code: f.text, message: f.text, param: f.someText });

const ExplainedAccount = z.strictObject({
  account: f.text,
  state: z
    .enum(['healthy', 'avoided', 'cooling', 'full', 'limited', 'parked', 'draining', 'refused_credential'])
    .describe('for this model and operation; `avoided`: used after all others'),
  reason: f.someText.describe('the fault that began the cooldown'),
  until: f.someMoment.describe('end of the cooldown'),
});

const line = f.text.describe('the line of the catalog that the name resolves to');
const ExplainedWay = z.strictObject({
  group: f.text,
  line,
  upstream_model: f.text.describe('the name that providers get; an account may have its own one'),
  dialect: z.enum(UPSTREAM_DIALECTS).describe('of the upstream request'),
  native: f.flag.describe('bytes are forwarded; otherwise the request is converted'),
  fallback: f.flag.describe('a line of another group'),
  opaque: z.enum(['none', 'kept', 'left_out']).describe('what happens to the opaque values of the request'),
  dropped: f.texts.describe('fields of the request that the conversion leaves out'),
  accounts: f.list(ExplainedAccount),
  price: f.someText.describe('version of the price in force; null for a free model'),
  rates: f.anyObject.nullable().describe('as in the configuration: dollars per million tokens by kind, or per piece'),
  group_multiplier: f.text,
  user_multiplier: f.text,
  max_cost: f.dollars.describe('reserved for the call, in exact decimal dollars; multipliers included'),
  covered: f.flag.describe('the wallet covers it'),
  error: CallerError.nullable().describe('why this way cannot serve the call now'),
});
export type ExplainedWay = z.infer<typeof ExplainedWay>;

const Reason = z.enum([
  'matrix',
  'dialect',
  'feature',
  'key_models',
  'no_line',
  'no_price',
  'no_account',
  'bound_elsewhere',
  'request',
]);
export type LeftOutReason = z.infer<typeof Reason>;

const LeftOut = z.strictObject({
  group: f.text,
  line: f.someText,
  dialect: f.someText,
  account: f.someText.describe('set where one account of the way is left out, not the way'),
  reason: Reason,
  detail: f.someText.describe('the feature, the account that holds it, or the error of a call on this way'),
});
export type LeftOut = z.infer<typeof LeftOut>;

export const ShownExplanation = f.named('Explanation', {
  object: z.literal('explanation'),
  ...f.USD,
  key: f.text,
  user: f.text,
  model: f.text,
  dialect: f.text,
  group: f.text.describe('the one that serves the call'),
  groups: f.texts.describe('those of the key, in order'),
  endpoint: f.text.describe('method and path of the call'),
  minimal_body: f.flag.describe('no body was given'),
  ways: f.list(ExplainedWay).describe('in the order in which they are tried'),
  left_out: f.list(LeftOut),
  available: f.dollars.describe('in the wallet of the user'),
  way: f.integer.nullable().describe('number of the way that would serve the call now, from 1; null when none would'),
  error: CallerError.nullable().describe('what the caller would get when no way serves the call'),
});
export type ShownExplanation = z.infer<typeof ShownExplanation>;
