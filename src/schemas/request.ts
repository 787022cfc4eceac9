/** Calls in the request log, with the arithmetic of their charge. */
import { z } from 'zod';
import * as f from './field.ts';

/** On whose side a call failed: the provider, the gateway and its configuration, or the caller. */
export const ERROR_SIDES = ['provider', 'ours', 'caller'] as const;
export type ErrorSide = (typeof ERROR_SIDES)[number];

/** What the caller could observe, which its user sees too. */
export const OwnRequest = f.named('OwnRequest', {
  ...f.kind('request'),
  currency: f.USD.currency.optional(),
  id: f.text,
  at: f.moment,
  key: f.someText.describe('null where the call has no known key'),
  group: f.someText,
  operation: f.text,
  model: f.someText,
  dialect: f.someText,
  stream: f.flag.nullable(),
  status: f.integer,
  outcome: z.enum(['completed', 'client_closed', 'interrupted']),
  code: f.someText.describe('the code of the error'),
  message: f.someText.describe('the error message sent to the caller; null where it may quote the request'),
  error: z.enum(ERROR_SIDES).nullable().describe('on whose side the failure was'),
  dropped: f.texts.describe('fields that did not reach the provider'),
  changed: f.texts.describe('fields that were converted to another form'),
  first_byte_ms: f.someMilliseconds,
  total_ms: f.milliseconds,
  added_ms: f.someMilliseconds.describe('the part of the gateway, in milliseconds'),
  usage: f.anyObject.nullable().describe('tokens and pieces by kind'),
  estimated: f.flag.nullable(),
  charge: f.someDollars,
  captured: f.flag.describe('its bodies can be read; of a single call only').optional(),
});
export type OwnRequest = z.infer<typeof OwnRequest>;

/** Members after `start_ms` are absent while the attempt runs. */
const ShownAttempt = z.strictObject({
  group: f.text.describe('of a line of another group that took the call').optional(),
  account: f.text,
  start_ms: f.milliseconds,
  model: f.text.optional(),
  outcome: f.text.optional(),
  fault: f.text.optional(),
  status: f.integer.optional(),
  first_byte_ms: f.milliseconds.optional(),
  end_ms: f.milliseconds.optional(),
  message: f.text.describe('of the provider about the failure').optional(),
  request_id: f.text.describe("the provider's id of the failed request").optional(),
  usage: f.anyObject
    .describe('of a failed attempt: what the provider reported or made before; nobody is charged for it')
    .optional(),
  cost: f.dollars.describe('what the provider bills for a failed attempt; absent where it is unknown').optional(),
});
export type ShownAttempt = z.infer<typeof ShownAttempt>;

const PriceLine = z.strictObject({
  part: f.text,
  count: f.integer,
  rate: f.dollars,
  per: z.enum(['million_tokens', 'piece', 'hour']).describe('what the rate is for; time is counted in seconds'),
  amount: f.dollars,
});
export type PriceLine = z.infer<typeof PriceLine>;

const above = f.someInteger.describe('the step of the price by input tokens that the rates are of; null for the first');

export const PricedCall = z.strictObject({
  price: f.someText,
  tier: f.someText.describe('service tier whose rates the lines have; null for the standard rates'),
  above,
  lines: f.list(PriceLine),
  subtotal: f.dollars,
  group_multiplier: f.someText.describe('null where it is not known any more, and for background responses'),
  user_multiplier: f.someText,
  charge: f.dollars,
});
export type PricedCall = z.infer<typeof PricedCall>;

const ProviderBill = z.strictObject({
  above,
  lines: f.list(PriceLine),
  subtotal: f.dollars,
  multiplier: f.someText.describe('of the account as it is now; null when it differs from that of the call'),
  cost: f.dollars,
  margin: f.dollars,
  margin_percent: z.number().nullable().describe('of the charge; null without a charge'),
});
export type ProviderBill = z.infer<typeof ProviderBill>;

const CallPrice = z.strictObject({
  charge: PricedCall.nullable(),
  cost: ProviderBill.nullable().describe('null where the cost is unknown'),
});
export type CallPrice = z.infer<typeof CallPrice>;

export const LoggedRequest = OwnRequest.extend({
  user: f.someText.describe('null where the call has no known key'),
  account: f.someText,
  upstream_model: f.someText,
  target_dialect: f.someText,
  converted: f.flag,
  attempts: f.list(ShownAttempt),
  failover_ms: f.someMilliseconds,
  cost: f.someDollars,
  price: f.someText,
  session: f.someText.describe('calls of one conversation have the same value'),
  pricing: CallPrice.optional(),
}).meta({ id: 'LoggedRequest' });
export type LoggedRequest = z.infer<typeof LoggedRequest>;
/** As an operator or a person of the user reads it. */
export type ReadRequest = OwnRequest & Partial<LoggedRequest>;

/** Members of a page of the request log beside its rows. */
export const REQUEST_PAGE = {
  ...f.USD,
  searched_to: f.someMoment.describe(
    'set where the search for rare calls ended before the period did; the next page goes on from there',
  ),
};

const CapturedBody = z.strictObject({
  headers: z.record(f.text, f.text),
  body: f.text,
  encoding: z.enum(['utf8', 'base64']).describe('`base64` where the bytes are no text'),
  bytes: f.integer.describe('of the whole body'),
  cut: f.flag.describe('only the beginning was kept'),
});

/** The bodies of a call as its client sent and received them. */
export const ShownCapture = f.named('Capture', {
  object: z.literal('capture'),
  id: f.text.describe('of the call'),
  at: f.moment,
  request: CapturedBody.extend({ method: f.text, path: f.text.describe('with the query, without a key in it') }),
  response: CapturedBody.extend({ status: f.integer }),
});
export type ShownCapture = z.infer<typeof ShownCapture>;

export const ShownQuote = CallPrice.extend({
  object: z.literal('quote'),
  group: f.text,
  model: f.text,
  line: f.text.describe('the line of the catalog that the name resolves to'),
  free: f.flag,
  at_most: f.flag.describe('a video: the most that it can cost'),
}).meta({ id: 'Quote' });
export type ShownQuote = z.infer<typeof ShownQuote>;
