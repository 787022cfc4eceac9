/** Calls in the request log, with the arithmetic of their charge. */
import { z } from 'zod';
import {
  anyObject,
  dollars,
  flag,
  integer,
  kind,
  list,
  milliseconds,
  moment,
  named,
  someDollars,
  someInteger,
  someMilliseconds,
  someMoment,
  someText,
  text,
  texts,
  USD,
} from './field.ts';

/** On whose side a call failed: the provider, the gateway and its configuration, or the caller. */
export const ERROR_SIDES = ['provider', 'ours', 'caller'] as const;
export type ErrorSide = (typeof ERROR_SIDES)[number];

/** What the caller could observe, which its user sees too. */
export const OwnRequest = named('OwnRequest', {
  ...kind('request'),
  currency: USD.currency.optional(),
  id: text,
  at: moment,
  key: someText.describe('null where the call has no known key'),
  group: someText,
  operation: text,
  model: someText,
  dialect: someText,
  stream: flag.nullable(),
  status: integer,
  outcome: z.enum(['completed', 'client_closed', 'interrupted']),
  code: someText.describe('the code of the error'),
  message: someText.describe('the error message sent to the caller; null where it may quote the request'),
  error: z.enum(ERROR_SIDES).nullable().describe('on whose side the failure was'),
  dropped: texts.describe('fields that did not reach the provider'),
  changed: texts.describe('fields that were converted to another form'),
  first_byte_ms: someMilliseconds,
  total_ms: milliseconds,
  added_ms: someMilliseconds.describe('the part of the gateway, in milliseconds'),
  usage: anyObject.nullable().describe('tokens and pieces by kind'),
  estimated: flag.nullable(),
  charge: someDollars,
  captured: flag.describe('its bodies can be read; of a single call only').optional(),
});
export type OwnRequest = z.infer<typeof OwnRequest>;

/** Members after `start_ms` are absent while the attempt runs. */
const ShownAttempt = z.strictObject({
  group: text.describe('of a line of another group that took the call').optional(),
  account: text,
  start_ms: milliseconds,
  model: text.optional(),
  outcome: text.optional(),
  fault: text.optional(),
  status: integer.optional(),
  first_byte_ms: milliseconds.optional(),
  end_ms: milliseconds.optional(),
  message: text.describe('of the provider about the failure').optional(),
  request_id: text.describe("the provider's id of the failed request").optional(),
});
export type ShownAttempt = z.infer<typeof ShownAttempt>;

const PriceLine = z.strictObject({
  part: text,
  count: integer,
  rate: dollars,
  per: z.enum(['million_tokens', 'piece', 'hour']).describe('what the rate is for; time is counted in seconds'),
  amount: dollars,
});
export type PriceLine = z.infer<typeof PriceLine>;

const above = someInteger.describe('the step of the price by input tokens that the rates are of; null for the first');

export const PricedCall = z.strictObject({
  price: someText,
  tier: someText.describe('service tier whose rates the lines have; null for the standard rates'),
  above,
  lines: list(PriceLine),
  subtotal: dollars,
  group_multiplier: someText.describe('null where it is not known any more, and for background responses'),
  user_multiplier: someText,
  charge: dollars,
});
export type PricedCall = z.infer<typeof PricedCall>;

const ProviderBill = z.strictObject({
  above,
  lines: list(PriceLine),
  subtotal: dollars,
  multiplier: someText.describe('of the account as it is now; null when it differs from that of the call'),
  cost: dollars,
  margin: dollars,
  margin_percent: z.number().nullable().describe('of the charge; null without a charge'),
});
export type ProviderBill = z.infer<typeof ProviderBill>;

const CallPrice = z.strictObject({
  charge: PricedCall.nullable(),
  cost: ProviderBill.nullable().describe('null where the cost is unknown'),
});
export type CallPrice = z.infer<typeof CallPrice>;

export const LoggedRequest = OwnRequest.extend({
  user: someText.describe('null where the call has no known key'),
  account: someText,
  upstream_model: someText,
  target_dialect: someText,
  converted: flag,
  attempts: list(ShownAttempt),
  failover_ms: someMilliseconds,
  cost: someDollars,
  price: someText,
  session: someText.describe('calls of one conversation have the same value'),
  pricing: CallPrice.optional(),
}).meta({ id: 'LoggedRequest' });
export type LoggedRequest = z.infer<typeof LoggedRequest>;
/** As an operator or a person of the user reads it. */
export type ReadRequest = OwnRequest & Partial<LoggedRequest>;

/** Members of a page of the request log beside its rows. */
export const REQUEST_PAGE = {
  ...USD,
  searched_to: someMoment.describe(
    'set where the search for rare calls ended before the period did; the next page goes on from there',
  ),
};

const CapturedBody = z.strictObject({
  headers: z.record(text, text),
  body: text,
  encoding: z.enum(['utf8', 'base64']).describe('`base64` where the bytes are no text'),
  bytes: integer.describe('of the whole body'),
  cut: flag.describe('only the beginning was kept'),
});

/** The bodies of a call as its client sent and received them. */
export const ShownCapture = named('Capture', {
  object: z.literal('capture'),
  id: text.describe('of the call'),
  at: moment,
  request: CapturedBody.extend({ method: text, path: text.describe('with the query, without a key in it') }),
  response: CapturedBody.extend({ status: integer }),
});
export type ShownCapture = z.infer<typeof ShownCapture>;

/** What a call would be charged. */
export const ShownQuote = CallPrice.extend({
  object: z.literal('quote'),
  group: text,
  model: text,
  line: text.describe('the line of the catalog that the name resolves to'),
  free: flag,
  at_most: flag.describe('a video: the most that it can cost'),
}).meta({ id: 'Quote' });
export type ShownQuote = z.infer<typeof ShownQuote>;
