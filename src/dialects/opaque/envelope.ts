/**
 * Foreign opaque values travel through a client in its own opaque slot, in an envelope that says whose they are. What comes
 * back is untrusted: an envelope that does not parse counts as absent, and a forged value is merely an invalid one upstream.
 */
import type { Style } from '../../rules/index.ts';
import type { Opaque } from '../hub/types.ts';
import { isObject, maybeCount, maybeString } from '../wire/read.ts';

export const ENVELOPE_PREFIX = 'gw1.';
const MAX_CHARS = 2 ** 20;

/** For foreign reasoning without a value of its own: no provider would take it back, and by this it is left out again. */
export const EMPTY_ENVELOPE = ENVELOPE_PREFIX;
/** The text of a slot; none where it was only filled so that we know our own reasoning again. */
export const textIn = (slot: string | undefined): string => (slot === undefined || slot === EMPTY_ENVELOPE ? '' : slot);

export const isEnvelope = (text: string): boolean => text.startsWith(ENVELOPE_PREFIX);

/** The slot's text for a client whose own family is `client`: bare for its own values, an envelope for all others. */
export const pack = (opaque: Opaque, client: Style): string =>
  opaque.issuer === client && opaque.account === undefined && opaque.id === undefined ? opaque.data : wrap(opaque);

export function wrap(opaque: Opaque): string {
  const { issuer, kind, account, id, lengths, data } = opaque;
  const json = JSON.stringify({ v: 1, p: issuer, k: kind, a: account, i: id, s: lengths, d: data });
  return ENVELOPE_PREFIX + Buffer.from(json).toString('base64url');
}

const STYLES: Readonly<Record<string, Style>> = {
  responses: 'responses',
  messages: 'messages',
  'generate-content': 'generate-content',
};
const KINDS: Readonly<Record<string, Opaque['kind']>> = {
  thinking: 'thinking',
  redacted: 'redacted',
  reasoning: 'reasoning',
  thought: 'thought',
  compaction: 'compaction',
};

/** Undefined for text that is no envelope of ours or a damaged one. */
export function unwrap(text: string): Opaque | undefined {
  if (!isEnvelope(text) || text.length > MAX_CHARS) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text.slice(ENVELOPE_PREFIX.length), 'base64url').toString('utf8'));
    if (!isObject(value)) return undefined;
    const issuer = STYLES[String(value.p)];
    const kind = KINDS[String(value.k)];
    const data = maybeString(value.d);
    if (!issuer || !kind || data === undefined) return undefined;
    const id = maybeString(value.i);
    const account = maybeString(value.a);
    const lengths =
      Array.isArray(value.s) && value.s.every((n) => maybeCount(n) !== undefined) ? (value.s as number[]) : undefined;
    return {
      issuer,
      kind,
      data,
      ...(id !== undefined && { id }),
      ...(account !== undefined && { account }),
      ...(lengths && { lengths }),
    };
  } catch {
    return undefined;
  }
}
