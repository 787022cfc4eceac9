/**
 * What a call or a video task would be charged and would cost the operator, by the arithmetic that charges it; and the
 * plan of a call.
 */
import { z } from 'zod';
import { findKeyById, type Key } from '../../access/keys/index.ts';
import { Catalog, type ModelLine, priceAt, readModelLines } from '../../catalog/index.ts';
import { failAt, notFound } from '../../core/index.ts';
import { type Cost, costOf, parseCost, parseRates, type Rates, videoCost, videoRateOf } from '../../ledger/index.ts';
import { pricedCall, providerBill } from '../../observe/request-log/index.ts';
import { type Db, firstRow, snapshot, type Tx } from '../../platform/db/index.ts';
import { expectJson, readBody } from '../../platform/web/index.ts';
import * as rules from '../../rules/index.ts';
import { line } from '../../schemas/index.ts';
import { maxCostOfTask } from '../../video/index.ts';
import { operation } from './handler.ts';
import { param } from './query-params.ts';

/** As for usage records: more than any request can use. */
const MAX_COUNT = 1_000_000_000;
const count = (description: string, max = MAX_COUNT) =>
  z.coerce.number().int().min(0).max(max).describe(description).default(0);
const named = (description: string) =>
  z
    .string()
    .min(1)
    .max(512)
    .regex(/^\P{Cc}*$/u)
    .describe(description);

const QuoteQuery = z.strictObject({
  group: named('the group of the model'),
  model: named('a name or a line of the catalog'),
  user: param.user.describe('with the multiplier of this user; 1 by default'),
  account: param.account.describe('with the cost multiplier of this account; 1 by default'),
  tier: z.enum(rules.PRICE_TIERS).describe('service tier; the standard one by default').optional(),
  input_tokens: count('all input tokens, including those read from or written to the cache'),
  cached_input_tokens: count('input tokens that the provider reads from its cache'),
  cached_audio_tokens: count('audio among them'),
  cache_write_tokens: count('input tokens that the provider writes to its cache'),
  cache_write_1h_tokens: count('those among them that it keeps for an hour'),
  audio_input_tokens: count('audio among the input tokens'),
  audio_seconds: count('length of the audio in the input', 1_000_000),
  output_tokens: count('all output tokens, including reasoning'),
  reasoning_tokens: count('output tokens of reasoning'),
  audio_output_tokens: count('output tokens of audio'),
  image_tokens: count('output tokens of images'),
  searches: count('searches of the web', 1_000),
  file_searches: count('searches in stored files', 1_000),
  fetches: count('web pages that the provider fetches', 1_000),
  images: count('images that are billed per image', 1_000),
  image_kind: named('size and quality of the images, such as `1024x1024/high`').default('1024x1024/medium'),
  seconds: z.coerce
    .number()
    .int()
    .min(1)
    .describe('length of a video, at most the longest of the model; by default that of the model, else the longest')
    .optional(),
  resolution: z
    .enum(rules.RESOLUTION_WORDS)
    .describe('of a video; by default the most expensive one of the model')
    .optional(),
  ratio: z.enum(rules.RATIO_WORDS).describe('of a video; by default the largest one').optional(),
  video_input: z.enum(['true', 'false']).describe('`true` for a video from a video').default('false'),
});
type Quote = z.output<typeof QuoteQuery>;

async function quote(tx: Tx, query: Quote, now: number): Promise<object> {
  const group = await tx.selectFrom('groups').selectAll().where('id', '=', query.group).executeTakeFirst();
  if (!group) throw notFound('group', query.group, 'group');
  const catalog = new Catalog([], [], await readModelLines(tx, group.id));
  const model = catalog.resolve(group.id, query.model);
  if (!model) throw notFound('model', query.model, 'model');
  const { line } = model;
  const isVideo = group.style === 'video';
  const head = {
    object: 'quote',
    group: group.id,
    model: model.name,
    line: line.pattern,
    free: line.isFree,
    at_most: isVideo,
  };
  const price = priceAt(line, now);
  const sold =
    price &&
    (isVideo
      ? videoAt(query, group.variant as rules.VideoVariant, line, price.rates)
      : textAt(query, parseRates(price.rates)));
  if (!price || !sold) return { ...head, charge: null, cost: null };
  const userPpm = await multiplierOf(tx, 'user', query.user);
  const { nanos } = sold([group.multiplier_ppm, userPpm]);
  const charge = pricedCall(sold([ONE, ONE]), {
    priceId: price.id,
    groupPpm: group.multiplier_ppm,
    userPpm,
    nanos,
  });
  // The provider's cost of a video is not known before its bill.
  if (isVideo) return { ...head, charge, cost: null };
  const { cost } = await tx.selectFrom('prices').select('cost').where('id', '=', price.id).executeTakeFirstOrThrow();
  if (cost === null) return { ...head, charge, cost: null };
  const ppm = await multiplierOf(tx, 'account', query.account);
  const billed = textAt(query, parseCost(cost));
  return { ...head, charge, cost: providerBill(billed([ONE]), { ppm, costNanos: billed([ppm]).nanos, nanos }) };
}

const ONE = 1_000_000n;
type Pricing = (multipliersPpm: readonly bigint[]) => Cost;

function textAt(query: Quote, rates: Rates): Pricing {
  const usage = {
    input: query.input_tokens,
    cacheRead: query.cached_input_tokens,
    cacheReadAudio: query.cached_audio_tokens,
    cacheWrite: query.cache_write_tokens,
    cacheWriteLong: query.cache_write_1h_tokens,
    inputAudio: query.audio_input_tokens,
    audioSeconds: query.audio_seconds,
    output: query.output_tokens,
    reasoning: query.reasoning_tokens,
    outputAudio: query.audio_output_tokens,
    searches: query.searches,
    fileSearches: query.file_searches,
    fetches: query.fetches,
    ...(query.image_tokens > 0 && { outputImage: query.image_tokens }),
    ...(query.images > 0 && { images: { [query.image_kind]: query.images } }),
    ...(query.tier !== undefined && { tier: query.tier }),
  };
  return (multipliersPpm) => costOf(usage, rates, multipliersPpm);
}

/** Undefined for a model without a video price. */
function videoAt(query: Quote, variant: rules.VideoVariant, line: ModelLine, stored: unknown): Pricing | undefined {
  const rates = parseRates(stored);
  const sheet = rules.sheetOf(variant, line.overrides, query.model);
  if (videoRateOf(rates, '', false, { unit: sheet.unit, hasAudio: true }) === undefined) return undefined;
  checkFits(query, sheet);
  const { seconds: duration, resolution, ratio } = query;
  const hasVideoInput = query.video_input === 'true';
  const facts = { duration, resolution, ratio, hasVideoInput, promptOptions: undefined };
  const { count, rate, unit } = maxCostOfTask(facts, sheet, rates, [ONE]);
  return (multipliersPpm) => videoCost(count, rate, multipliersPpm, unit);
}

function checkFits({ seconds = 0, resolution, ratio }: Quote, sheet: rules.VideoSheet): void {
  const { max } = sheet.parameters.duration;
  if (seconds > max) throw failAt('invalid_request', 'seconds', `${seconds} is out of range; send at most ${max}.`);
  for (const [name, word, offered] of [
    ['resolution', resolution, sheet.resolutions],
    ['ratio', ratio, sheet.ratios],
  ] as const)
    if (word !== undefined && !(offered as readonly string[]).includes(word))
      throw failAt('invalid_request', name, `the model does not offer ${word}; send one of ${offered.join(', ')}.`);
}

async function multiplierOf(tx: Tx, kind: 'user' | 'account', id: string | undefined): Promise<bigint> {
  if (id === undefined) return ONE;
  const row = await (kind === 'user'
    ? firstRow(tx)<{ ppm: bigint }>`select multiplier_ppm as ppm from users where id = ${id}`
    : firstRow(tx)<{ ppm: bigint }>`select cost_multiplier_ppm as ppm from accounts where id = ${id}`);
  if (!row) throw notFound(kind, id, kind);
  return row.ppm;
}

/**
 * The plan of a call, without the call. Reads only; the body of the request is that of the call, and is neither kept
 * nor shown.
 */
const ExplainQuery = z.strictObject({
  key: line(64, 'id of the API key that makes the call'),
  model: line(512, 'as the caller names it; replaces that of the body'),
  dialect: z.enum(rules.DIALECTS).describe("of the call; by default that of the key's group").optional(),
});
const CallBody = z.looseObject({}).describe('the body of the call; without one, a minimal one of its dialect');

/** Of any user. */
export async function keyToExplain(db: Db, id: string, now: number): Promise<Key> {
  const key = await findKeyById(db, id, now);
  if (key) return key;
  const row = await db.selectFrom('keys').select('id').where('id', '=', id).executeTakeFirst();
  if (!row) throw notFound('key', id, 'key');
  throw failAt('invalid_request', 'key', 'it is revoked or has expired, so that its calls get 401 invalid_api_key.');
}

export const QUOTE_OPERATIONS = {
  'admin.quote': operation({
    query: QuoteQuery,
    handle: ({ query }, { db, clock }) => snapshot(db, (tx) => quote(tx, query, clock.now())),
  }),
  'admin.explain': operation({
    query: ExplainQuery,
    body: CallBody,
    // It stays bytes, as that of a call.
    readBody: async () => ({}),
    async handle({ call, query }, { db, clock, explain, maxTextBytes }) {
      expectJson(call);
      const body = await readBody(call, maxTextBytes, { copies: rules.WORKING_COPIES.converted });
      const key = await keyToExplain(db, query.key, clock.now());
      return await explain({ ...query, key, body: body.length === 0 ? undefined : body });
    },
  }),
};
