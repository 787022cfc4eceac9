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

export const isEnvelope = (text: string): boolean => text.startsWith(ENVELOPE_PREFIX);

/** Only its issuer can read a value, and only with the account that it is bound to. */
export const isReadable = ({ issuer, account: bound }: Opaque, reader: Style, account: string | undefined): boolean =>
  issuer === reader && (bound === undefined || account === undefined || bound === account);

/** Returns the slot text for a client of style `client`: bare for values of that style, an envelope for all others. */
export const pack = (opaque: Opaque, client: Style): string =>
  opaque.issuer === client && opaque.account === undefined && opaque.id === undefined ? opaque.data : wrap(opaque);

export function wrap(opaque: Opaque): string {
  const { issuer, kind, account, id, lengths, mac, data } = opaque;
  const json = JSON.stringify({ v: 1, p: issuer, k: kind, a: account, i: id, s: lengths, m: mac, d: data });
  return ENVELOPE_PREFIX + Buffer.from(json).toString('base64url');
}

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

/** Every envelope begins with this, because `wrap` writes the same members first. */
const START = wrap({ issuer: 'messages', kind: 'thinking', data: '' }).slice(0, ENVELOPE_PREFIX.length + 16);
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
  if (!text.startsWith(START) || text.length > MAX_CHARS) return undefined;
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
