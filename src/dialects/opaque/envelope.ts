/**
 * The `gw1.` envelope: an opaque value and its issuer in the slot of
 * another dialect. A malformed or unsigned one counts as absent.
 */
import type { Style } from '../../rules/index.ts';
import type { Opaque } from '../hub/types.ts';
import { compact, isObject, maybeCount, maybeString } from '../wire/read.ts';

export const ENVELOPE_PREFIX = 'gw1.';
/** Limit for parsing an envelope from a client. */
const MAX_CHARS = 2 ** 20;

/** Fills the slot of foreign reasoning that has no opaque value, so that the gateway recognises and omits it later. */
export const EMPTY_ENVELOPE = ENVELOPE_PREFIX;
/** Returns the text of a slot; empty for the empty envelope. */
export const slotText = (slot: string | undefined): string =>
  slot === undefined || slot === EMPTY_ENVELOPE ? '' : slot;

/** Begins an envelope in a slot of bytes: with the base64 behind it, it is base64 as a whole, which SDKs verify. */
const BYTES_PREFIX = 'gw1o';
/** How all envelopes in slots of bytes begin: four characters may also begin a value of a provider. */
export const BYTES_ENVELOPE_PREFIX = BYTES_PREFIX + Buffer.from('{"v":1,"').toString('base64').slice(0, 10);

export const isEnvelope = (text: string): boolean =>
  text.startsWith(ENVELOPE_PREFIX) || text.startsWith(BYTES_ENVELOPE_PREFIX);

/** Only its issuer can read a value, and only with the account that it is bound to. */
export const isReadable = ({ issuer, account: bound }: Opaque, reader: Style, account: string | undefined): boolean =>
  issuer === reader && (bound === undefined || account === undefined || bound === account);

/** Returns the slot text for a client of style `client`: bare for values of that style, an envelope for all others. */
export const pack = (opaque: Opaque, client: Style): string => (isBare(opaque, client) ? opaque.data : wrap(opaque));

const isBare = ({ issuer, account, id }: Opaque, client: Style): boolean =>
  issuer === client && account === undefined && id === undefined;

/** The same for a slot of bytes, which clients decode: base64 with padding. */
export const packBytes = (opaque: Opaque, client: Style): string =>
  isBare(opaque, client) ? opaque.data : BYTES_PREFIX + Buffer.from(jsonOf(opaque)).toString('base64');

export const wrap = (opaque: Opaque): string => ENVELOPE_PREFIX + Buffer.from(jsonOf(opaque)).toString('base64url');

const jsonOf = ({ issuer, kind, account, id, lengths, mac, data }: Opaque): string =>
  JSON.stringify({ v: 1, p: issuer, k: kind, a: account, i: id, s: lengths, m: mac, d: data });

const STYLES: readonly Style[] = ['responses', 'messages', 'generate-content'];
const KINDS: readonly Opaque['kind'][] = [
  'thinking',
  'redacted',
  'reasoning',
  'thought',
  'compaction',
  'summary',
  'hosted',
];

/** Every envelope has this behind its prefix, because `jsonOf` writes the same members first. */
const START = Buffer.from('{"v":1,"p":"').toString('base64');
const STRING = String.raw`"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-f]{4})[^"\\\x00-\x1f]*)*"`;
const LENGTHS = String.raw`\[(?:\d{1,9}(?:,\d{1,9})*)?\]`;
/**
 * What `wrap` writes, and nothing that `JSON.parse` rejects: a thrown error
 * takes 13 us, and a request can hold thousands of values.
 */
const SHAPE = new RegExp(
  [
    String.raw`^\{"v":1`,
    `"p":${STRING}`,
    `"k":${STRING}(?:,"a":${STRING})?(?:,"i":${STRING})?(?:,"s":${LENGTHS})?(?:,"m":${STRING})?`,
    String.raw`"d":${STRING}\}$`,
  ].join(','),
);

export function unwrap(text: string): Opaque | undefined {
  const isOwn = text.startsWith(ENVELOPE_PREFIX) || text.startsWith(BYTES_PREFIX);
  if (!isOwn || !text.startsWith(START, ENVELOPE_PREFIX.length) || text.length > MAX_CHARS) return undefined;
  // A client that decodes bytes may encode them in the other alphabet of base64; Node reads both.
  const json = Buffer.from(text.slice(ENVELOPE_PREFIX.length), 'base64url').toString('utf8');
  return SHAPE.test(json) ? opaqueOf(JSON.parse(json)) : undefined;
}

function opaqueOf(value: unknown): Opaque | undefined {
  if (!isObject(value)) return undefined;
  const issuer = STYLES.find((style) => style === value.p);
  const kind = KINDS.find((one) => one === value.k);
  const data = maybeString(value.d);
  if (!issuer || !kind || data === undefined) return undefined;
  const isList = Array.isArray(value.s) && value.s.every((n) => maybeCount(n) !== undefined);
  return compact({
    issuer,
    kind,
    data,
    id: maybeString(value.i),
    account: maybeString(value.a),
    lengths: isList ? (value.s as number[]) : undefined,
    mac: maybeString(value.m),
  });
}
