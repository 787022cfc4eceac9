/**
 * The schema and parser of the configuration file. Errors name the path, the value found and the value expected. Strict: unknown
 * fields are rejected.
 */
import { type Document, parseDocument } from 'yaml';
import { z } from 'zod';
import { isProxyUrl, PROXY_EXPECTED, parseNanos, parsePpm, parseRange } from '../core/index.ts';
import { isKeyFormat } from '../identity/index.ts';
import {
  CHAT_PRESET_NAMES,
  FEATURES,
  KEY_CHARS,
  OPT_IN_FEATURES,
  PRICE_TIERS,
  RESOLUTIONS,
  type Resolution,
  STYLES,
  USER_ID,
  VIDEO_ADAPTERS,
  VIDEO_VARIANTS,
} from '../rules/index.ts';
import { AccountCapabilities } from './account-capabilities.ts';
import { issuesOf } from './issues.ts';

const id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lower-case letters, digits, dot, dash and underscore, at most 64');
/** The largest value of a bigint column. */
const MAX_NANOS = 2n ** 63n - 1n;
const MONEY_EXPECTED = 'a decimal amount in quotes, for example "1.25"';
const money = z
  .string()
  .refine((text) => {
    const nanos = parseNanos(text);
    return nanos !== undefined && nanos >= 0n && nanos <= MAX_NANOS;
  }, MONEY_EXPECTED)
  .describe(MONEY_EXPECTED);
const FACTOR_EXPECTED = 'a decimal factor in quotes, for example "1.5"';
const factor = z
  .string()
  .refine((text) => parsePpm(text) !== undefined, FACTOR_EXPECTED)
  .describe(FACTOR_EXPECTED);
const httpUrl = z.url({ protocol: /^https?$/, error: 'an http:// or https:// URL' });
const RANGE_EXPECTED = 'an IP address or a network such as 10.0.0.0/8';
const range = z
  .string()
  .refine((text) => parseRange(text) !== undefined, RANGE_EXPECTED)
  .describe(RANGE_EXPECTED);
/** At most the largest value of an integer column. */
const count = z
  .number()
  .int()
  .positive()
  .max(2 ** 31 - 1);
const time = z.iso.datetime({ offset: true, error: 'a time such as 2030-01-31T00:00:00Z' });

const Group = z
  .strictObject({
    id,
    style: z.enum([...STYLES, 'video']),
    variant: z.enum(VIDEO_VARIANTS).optional(),
    name: z.string().min(1).max(200).optional(),
    multiplier: factor.optional(),
  })
  .refine((group) => (group.style === 'video') === (group.variant !== undefined), {
    path: ['variant'],
    error: 'A, EP or HC for style video, and for no other style',
  });

/** Goes into a header of every call, where a line end or a control character would make every call fail. */
const credential = z
  .string()
  .trim()
  .min(1)
  .max(4096)
  .regex(
    /^(?!.*\$\{)[\x20-\x7e]*$/,
    `one line of ASCII characters. \${NAME} must be the whole value, and works only in a file that the command line applies`,
  );

const Account = z.strictObject({
  id,
  group: z.string(),
  adapter: z.enum(VIDEO_ADAPTERS).optional(),
  base_url: httpUrl,
  api_key: credential,
  proxy: z
    .string()
    .trim()
    .max(4096)
    .refine(
      (text) => text === 'none' || text === 'environment' || isProxyUrl(text),
      `${PROXY_EXPECTED}; or none, or environment`,
    )
    .optional(),
  weight: z.number().int().min(0).max(1000).optional(),
  priority: z.number().int().min(-1000).max(1000).optional(),
  max_concurrency: count.optional(),
  cost_multiplier: factor.optional(),
  features: z
    .array(z.enum([...new Set([...Object.values(FEATURES).flat(), ...Object.values(OPT_IN_FEATURES).flat()])]))
    .optional(),
  /** `auto` follows the host of the base URL. */
  preset: z.enum([...CHAT_PRESET_NAMES, 'auto']).optional(),
  capabilities: AccountCapabilities.optional(),
  models: z.record(z.string(), z.string()).optional(),
  result_hosts: z.array(z.string()).optional(),
  assets: z
    .strictObject({
      base_url: httpUrl,
      access_key: credential,
      secret_key: credential,
      region: z.string(),
      project: z.string(),
    })
    .optional(),
});

/** Changes of a stored account. An absent field keeps its value, the credential included. */
export const AccountChange = Account.omit({ id: true, group: true, adapter: true }).partial();
export type AccountChange = z.infer<typeof AccountChange>;

/** A resolution without an amount costs the highest one of the table, so a table must not be empty. */
const ByResolution = z
  .union([money, z.record(z.string(), money)], { error: 'a decimal amount in quotes, or one for each resolution' })
  .superRefine((price, context) => {
    if (typeof price === 'string') return;
    const keys = Object.keys(price).filter((name) => !RESOLUTIONS.includes(name as Resolution));
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: price });
    else if (Object.keys(price).length === 0)
      context.addIssue({ code: 'custom', message: `an amount for at least one of ${RESOLUTIONS.join(', ')}` });
  });
const rateFields = {
  input: money.optional(),
  cached_input: money.optional(),
  cache_write: money.optional(),
  cache_write_1h: money.optional(),
  output: money.optional(),
  reasoning: money.optional(),
  audio_input: money.optional(),
  audio_output: money.optional(),
  image_input: money.optional(),
  image_output: money.optional(),
  per_image: z.record(z.string(), money).optional(),
  per_search: money.optional(),
};
const TIER_EXPECTED = 'rates, or a multiplier of all rates';
const Tier = z
  .strictObject({ ...rateFields, multiplier: factor.optional() })
  .refine((tier) => (tier.multiplier === undefined) === Object.keys(tier).some((name) => name !== 'multiplier'), {
    error: TIER_EXPECTED,
  })
  .describe(TIER_EXPECTED);
const Prices = z
  .strictObject({
    ...rateFields,
    tiers: z.partialRecord(z.enum(PRICE_TIERS), Tier).optional(),
    video: ByResolution.optional(),
    video_with_video_input: ByResolution.optional(),
  })
  // Without standard rates, every other request would be free.
  .refine((prices) => prices.tiers === undefined || Object.keys(prices).length > 1, {
    path: ['tiers'],
    error: 'tiers only beside the standard rates',
  });

const Model = z
  .strictObject({
    id: z.string().min(1).max(200),
    groups: z.array(z.string()).min(1),
    upstream: z.string().min(1).max(200).optional(),
    prices: Prices.optional(),
    cost: Prices.optional(),
    free: z.boolean().describe('whether the model is served without a price; false by default').optional(),
    /** Members by the style of the groups; video-models.ts checks those of video models. */
    capabilities: z.record(z.string(), z.unknown()).optional(),
    context: count.optional(),
    max_output: count.optional(),
    valid_from: time.optional(),
  })
  .refine(({ free, prices }) => !(free && prices), {
    path: ['free'],
    error: 'true only for a model without prices',
  });

const limits = {
  rpm: count.optional(),
  tpm: count.optional(),
  concurrency: count.optional(),
  spend_day: money.optional(),
  spend_month: money.optional(),
};

export const UserEntry = z.strictObject({
  id: z.string().regex(USER_ID, 'letters, digits, dot, dash and underscore, at most 64'),
  email: z.email({ error: 'an e-mail address' }).optional(),
  balance: money.optional(),
  multiplier: factor.optional(),
  max_keys: z
    .number()
    .int()
    .min(0)
    .max(1_000)
    .describe('valid keys that the people of the user may make in the console; 0 by default: none')
    .optional(),
  key_groups: z
    .array(z.string())
    .describe('groups of the keys that they may make, video groups included; every group by default')
    .optional(),
  ...limits,
});

const KEY_EXPECTED = `${KEY_CHARS.min} to ${KEY_CHARS.max} visible ASCII characters; the prefix dg- is reserved for generated keys`;
export const KeyEntry = z.strictObject({
  user: z.string(),
  group: z.string(),
  name: z.string().min(1).max(100).optional(),
  key: z.string().refine(isKeyFormat, KEY_EXPECTED).describe(KEY_EXPECTED).optional(),
  video_groups: z.array(z.string()).optional(),
  expires_at: time.optional(),
  models: z.array(z.string()).optional(),
  addresses: z.array(range).optional(),
  store: z.boolean().describe('whether responses are stored for later reference; true by default').optional(),
  ...limits,
});

const Character = z.strictObject({
  id,
  group: z.string(),
  models: z.array(z.string()).min(1),
  upstream_asset: z.string().min(1),
  name: z.string().min(1),
  tags: z.array(z.string()).optional(),
  gender: z.string().optional(),
  age_group: z.string().optional(),
  nationality: z.string().optional(),
  preview_url: z.union([z.literal(''), httpUrl]).optional(),
});

export const SetupFile = z.strictObject({
  groups: z.array(Group).default([]),
  accounts: z.array(Account).default([]),
  models: z.array(Model).default([]),
  users: z.array(UserEntry).default([]),
  keys: z.array(KeyEntry).default([]),
  characters: z.array(Character).default([]),
});
export type SetupFile = z.infer<typeof SetupFile>;

/** A rejected configuration file; nothing of it was applied. */
export class SetupError extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super(`The configuration is invalid; nothing was applied.\n  ${lines.join('\n  ')}`);
    this.lines = lines;
  }
}

export const parseSetup = (text: string): SetupFile => checkSetup(readDocument(text));

/** Reads YAML, and therefore JSON. */
export function readDocument(text: string): unknown {
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0)
    throw new SetupError(document.errors.map((error) => error.message.split('\n')[0] ?? ''));
  return resolveAliases(document) ?? {};
}

/** `lines`: errors that are already known, reported together with those of the schema. */
export function checkSetup(value: unknown, lines: readonly string[] = []): SetupFile {
  const result = SetupFile.safeParse(value);
  const all = [...lines, ...(result.success ? [] : issuesOf(result.error, value))];
  if (!result.success || all.length > 0) throw new SetupError(all);
  return result.data;
}

/** `toJS` resolves aliases. The error does not repeat their names, because an unquoted secret may begin with an asterisk. */
function resolveAliases(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    throw new SetupError(['A value that begins with * is an alias without an anchor; put it in quotes if it is text']);
  }
}
