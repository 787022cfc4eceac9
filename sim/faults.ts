/** The fault language: which misbehaviour a request asks for. */
import { CHAT_SERVER_NAMES, type ChatServerName } from './chat/server-names.ts';
import { count, oneOf, wordsOf } from './fault-words.ts';
import { isObject, type JsonObject } from './json.ts';
import { MANNERS } from './manners/table.ts';
import { type RefusedField, readRefusedField } from './refused-field.ts';
import { RETRY_AFTER, type RetryAfterWord } from './retry-after.ts';
import { readWireFault, type WireFault } from './wire/wire-fault.ts';

export type FaultKind =
  | 'context_too_long'
  | 'bad_key'
  | 'reset'
  | 'hang'
  | 'reset_mid'
  | 'eof_mid'
  | 'error_mid'
  | 'error_first'
  | 'silent_mid'
  | 'html'
  | 'garbage'
  | 'leak';

export type UsageDistortion = (typeof USAGE_DISTORTIONS)[number];

export type OmittedMember = (typeof OMITTED_MEMBERS)[number];

/** The fault of one request. Fields combine: `{ kind: 'error_mid', status: 429, delayMs: 50 }`. */
export interface Fault {
  kind?: FaultKind;
  /** Without a kind: the HTTP status to return. With a kind: the status of that kind's error. */
  status?: number;
  /** Number of content events before a `*_mid` fault (default 3). */
  after?: number;
  /** Length of the silence of `silent_mid`; without it, until the client disconnects. */
  silenceMs?: number;
  delayMs?: number;
  gapMs?: number;
  /** What a 429 announces: seconds (default 12), or one of the words of `RETRY_AFTER`. */
  retryAfter?: number | RetryAfterWord;
  events?: number;
  big?: number;
  /** Size of every picture's file, at least. */
  imageBytes?: number;
  /** Number of pictures, whatever the request asks for. */
  pictures?: number;
  /** Members that responses with pictures leave out. */
  omit?: OmittedMember[];
  usage?: UsageDistortion;
  /** The model cannot draw: a generateContent request for the modality IMAGE is a 400. */
  textOnly?: boolean;
  /** Fields that the model rejects. */
  refuse?: RefusedField[];
  /** The chat-completions server to play. */
  server?: ChatServerName;
  /** Verify returned signatures and encrypted reasoning as the real provider does. */
  strict?: boolean;
  /** Sends the response distorted. */
  wire?: WireFault;
  /** Names of manners (`manners/`), in the order in which they apply. */
  manners?: string[];
  /** Of the choices of manners; without their names, also the choice of some harmless ones. */
  seed?: string;
}

const OMITTED_MEMBERS = [
  ...(['size', 'quality', 'background', 'output_format'] as const),
  ...(['usage', 'tool_usage', 'input_tokens_details', 'output_tokens_details', 'candidatesTokensDetails'] as const),
] as const;
const LARGEST_IMAGE = 100_000_000;
const MAX_PICTURES = 10;

const STATUSES = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529];
const USAGE_DISTORTIONS = ['negative', 'huge', 'missing', 'zero', 'text', 'fraction'] as const;

/** All words of the fault language; sim/README.md says what they do. */
export const FAULTS: Record<string, (value: string) => Fault> = {
  status: (v) => ({ status: status(v) }),
  context_too_long: () => ({ kind: 'context_too_long' }),
  bad_key: () => ({ kind: 'bad_key' }),
  reset: () => ({ kind: 'reset' }),
  hang: () => ({ kind: 'hang' }),
  reset_mid: (v) => mid('reset_mid', v),
  eof_mid: (v) => mid('eof_mid', v),
  error_mid: (v) => mid('error_mid', v),
  error_first: () => ({ kind: 'error_first' }),
  silent_mid: (v) => ({ kind: 'silent_mid', ...(v && { silenceMs: count(v) }) }),
  html: () => ({ kind: 'html' }),
  garbage: () => ({ kind: 'garbage' }),
  leak: () => ({ kind: 'leak' }),
  after: (v) => ({ after: count(v) }),
  ms: (v) => ({ silenceMs: count(v) }),
  slow: (v) => ({ delayMs: count(v) }),
  delay: (v) => ({ delayMs: count(v) }),
  slow_events: (v) => ({ gapMs: count(v) }),
  gap: (v) => ({ gapMs: count(v) }),
  retry_after: (v) => ({ retryAfter: v in RETRY_AFTER ? (v as RetryAfterWord) : count(v) }),
  events: (v) => ({ events: count(v) }),
  big: (v) => ({ big: count(v) }),
  imagebytes: (v) => ({ imageBytes: count(v, LARGEST_IMAGE) }),
  pictures: (v) => ({ pictures: count(v, MAX_PICTURES) }),
  omit: (v) => ({ omit: v.split('+').map((name) => oneOf(OMITTED_MEMBERS, name)) }),
  text_only: () => ({ textOnly: true }),
  usage: (v) => ({ usage: oneOf(USAGE_DISTORTIONS, v) }),
  refuse: (v) => ({ refuse: v.split('+').map(readRefusedField) }),
  server: (v) => ({ server: oneOf(CHAT_SERVER_NAMES, v) }),
  strict: () => ({ strict: true }),
  wire: (v) => ({ wire: readWireFault(v) }),
  manners: (v) => ({ manners: v.split('+').map((name) => oneOf(Object.keys(MANNERS), name)) }),
  seed: (v) => ({ seed: v }),
};

/** Parses text such as `fault=503; delay=200`, `reset_mid=2` or `hang`. Throws on an unknown word. */
export function parseFault(spec: string): Fault {
  let fault: Fault = {};
  for (const [name, value] of wordsOf(spec)) fault = { ...fault, ...readWord(name, value) };
  return fault;
}

function readWord(name: string, value: string): Fault {
  if (name === 'fault') {
    const [[inner, of] = ['', '']] = wordsOf(value);
    return /^\d+$/.test(value) ? { status: status(value) } : readWord(inner, of);
  }
  const rule = Object.hasOwn(FAULTS, name) ? FAULTS[name] : undefined;
  if (!rule) throw new RangeError(`unknown fault "${name}"; known: ${Object.keys(FAULTS).join(', ')}`);
  return rule(value);
}

/**
 * Splits `demo-x@fault=503` into the model and its fault. An `@` that introduces no word of the
 * fault language belongs to the name: some providers have dated names such as `model@20260101`.
 */
export function splitModel(name: string): { model: string; fault: Fault } {
  const at = name.indexOf('@');
  if (at < 0) return { model: name, fault: {} };
  const spec = name.slice(at + 1);
  const first = spec.split(/[=;,&\s]/, 1)[0] ?? '';
  if (first !== 'fault' && !Object.hasOwn(FAULTS, first)) return { model: name, fault: {} };
  return { model: name.slice(0, at), fault: parseFault(spec) };
}

/** The object without the members that the fault leaves out, at any depth. */
export function omitMembers(object: JsonObject, { omit }: Fault): JsonObject {
  if (omit === undefined) return object;
  const kept = Object.entries(object).filter(([name]) => !omit.some((left) => left === name));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, isObject(value) ? omitMembers(value, { omit }) : value]),
  );
}

export function isMid(kind: FaultKind | undefined): boolean {
  return kind === 'reset_mid' || kind === 'eof_mid' || kind === 'error_mid' || kind === 'silent_mid';
}

function mid(kind: FaultKind, value: string): Fault {
  return value === '' ? { kind } : { kind, after: count(value) };
}

function status(value: string): number {
  const number = count(value);
  if (!STATUSES.includes(number)) throw new RangeError(`status ${value} is not one of ${STATUSES.join(', ')}`);
  return number;
}
