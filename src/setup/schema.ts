/**
 * The declarative configuration file: its schema, and reading it with errors that name the path, what stood there and what
 * was expected. Strict: an unknown field is an error, never silently ignored.
 */
import { type Document, parseDocument } from 'yaml';
import { z } from 'zod';
import { parseNanos, parsePpm, parseRange } from '../core/index.ts';
import { isKeyFormat } from '../identity/index.ts';
import { FEATURES, KEY_CHARS, STYLES, USER_ID, VIDEO_VARIANTS } from '../rules/index.ts';

const id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'lower-case letters, digits, dot, dash and underscore, at most 64');
/** What a bigint column holds. */
const MAX_NANOS = 2n ** 63n - 1n;
const money = z.string().refine((text) => {
  const nanos = parseNanos(text);
  return nanos !== undefined && nanos >= 0n && nanos <= MAX_NANOS;
}, 'a decimal amount in quotes, for example "1.25"');
export const factor = z
  .string()
  .refine((text) => parsePpm(text) !== undefined, 'a decimal factor in quotes, for example "1.5"');
const httpUrl = z.url({ protocol: /^https?$/, error: 'an http:// or https:// address' });
const range = z
  .string()
  .refine((text) => parseRange(text) !== undefined, 'an IP address or a network such as 10.0.0.0/8');
/** What an integer column holds. */
const count = z
  .number()
  .int()
  .positive()
  .max(2 ** 31 - 1);
export const time = z.iso.datetime({ offset: true, error: 'a time such as 2030-01-31T00:00:00Z' });

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

const Account = z.strictObject({
  id,
  group: z.string(),
  base_url: httpUrl,
  api_key: z.string().min(1).max(4096),
  weight: z.number().int().min(0).max(1000).optional(),
  priority: z.number().int().min(-1000).max(1000).optional(),
  max_concurrency: count.optional(),
  cost_multiplier: factor.optional(),
  features: z.array(z.enum([...new Set(Object.values(FEATURES).flat())])).optional(),
  models: z.record(z.string(), z.string()).optional(),
  result_hosts: z.array(z.string()).optional(),
  assets: z
    .strictObject({
      base_url: httpUrl,
      access_key: z.string(),
      secret_key: z.string(),
      region: z.string(),
      project: z.string(),
    })
    .optional(),
});

const ByResolution = z.union([money, z.record(z.string(), money)], {
  error: 'a decimal amount in quotes, or one for each resolution',
});
const Prices = z.strictObject({
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
  video: ByResolution.optional(),
  video_with_video_input: ByResolution.optional(),
});

const Model = z.strictObject({
  id: z.string().min(1).max(200),
  groups: z.array(z.string()).min(1),
  upstream: z.string().min(1).max(200).optional(),
  prices: Prices.optional(),
  cost: Prices.optional(),
  capabilities: z.record(z.string(), z.unknown()).optional(),
  context: count.optional(),
  max_output: count.optional(),
  valid_from: time.optional(),
});

const limits = {
  rpm: count.optional(),
  tpm: count.optional(),
  concurrency: count.optional(),
  spend_day: money.optional(),
  spend_month: money.optional(),
};

export const User = z.strictObject({
  id: z.string().regex(USER_ID, 'letters, digits, dot, dash and underscore, at most 64'),
  email: z.email({ error: 'an e-mail address' }).optional(),
  balance: money.optional(),
  multiplier: factor.optional(),
  ...limits,
});

const keyForm = `${KEY_CHARS.min} to ${KEY_CHARS.max} visible ASCII characters; dg- is reserved for keys that Dragoman makes`;
export const Key = z.strictObject({
  user: z.string(),
  group: z.string(),
  name: z.string().min(1).max(100).optional(),
  key: z.string().refine(isKeyFormat, keyForm).optional(),
  video_groups: z.array(z.string()).optional(),
  expires_at: time.optional(),
  models: z.array(z.string()).optional(),
  addresses: z.array(range).optional(),
  /** False: no response of its calls is kept for later reference. */
  store: z.boolean().optional(),
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
  users: z.array(User).default([]),
  keys: z.array(Key).default([]),
  characters: z.array(Character).default([]),
});
export type SetupFile = z.infer<typeof SetupFile>;

/** Nothing of the file was applied. Each line says where, what stood there, and what was expected. */
export class SetupError extends Error {
  readonly lines: readonly string[];
  constructor(lines: readonly string[]) {
    super(`The configuration is not usable; nothing was applied.\n  ${lines.join('\n  ')}`);
    this.lines = lines;
  }
}

/** YAML or JSON (which is YAML too). */
export function parseSetup(text: string): SetupFile {
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0)
    throw new SetupError(document.errors.map((error) => error.message.split('\n')[0] ?? ''));
  const value = plainOf(document) ?? {};
  const result = SetupFile.safeParse(value);
  if (!result.success) throw new SetupError(issuesOf(result.error, value));
  return result.data;
}

/** Where, what stood there and what was expected, a line each: `amount: found 5, expected a value of type string`. */
export const issuesOf = ({ issues }: z.ZodError, value: unknown, whole = 'the file'): string[] =>
  issues.flatMap((issue) => describe(issue, value, whole));

/** Aliases are followed only now; their names are not repeated, since a secret may begin with an asterisk. */
function plainOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    throw new SetupError([
      'A value that begins with * refers to no anchor of the file; put it in quotes if it is text',
    ]);
  }
}

function describe(issue: z.core.$ZodIssue, value: unknown, whole: string): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((name) => `${pathText([...issue.path, name], whole)}: no such field`);
  }
  return [`${pathText(issue.path, whole)}: found ${shown(issue, value)}, expected ${expectation(issue)}`];
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `a value of type ${issue.expected}`;
  if (issue.code === 'invalid_value') return `one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small') return `at least ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
  if (issue.code === 'too_big') return `at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
  return issue.message;
}

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };

const pathText = (path: readonly PropertyKey[], whole: string): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text ? `${text}.${String(step)}` : String(step)),
    '',
  ) || whole;

const SECRET = new Set<PropertyKey>(['key', 'api_key', 'secret_key', 'access_key']);
const WHOLES = new Set(['object', 'array', 'record']);

/** Values of secret fields are not repeated, nor what may hold one: a whole object, or a text in the place of one. */
function shown(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.path.some((step) => SECRET.has(step))) return 'a value that does not fit';
  const found = issue.path.reduce<unknown>(
    (at, step) => (typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined),
    value,
  );
  if (found === undefined) return 'nothing';
  if (Array.isArray(found)) return 'a list';
  if (typeof found === 'object' && found !== null) return 'an object';
  if (typeof found === 'string' && issue.code === 'invalid_type' && WHOLES.has(issue.expected)) return 'a text';
  return JSON.stringify(found).slice(0, 80);
}
