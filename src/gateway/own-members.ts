/**
 * Members of bodies that the gateway reads itself. They are measured before they are parsed, because thousands of
 * values take long. Pure: a thread can do it.
 */
import { failAt, measureMembers, type Span, valueAt } from '../core/index.ts';
import { METADATA, REQUEST_JSON_LIMITS } from '../rules/index.ts';
import { asJson } from './request-scan.ts';

export type Metadata = Readonly<Record<string, string>>;

/** The spans of the members. */
export const ownMembers = (bytes: Buffer, names: ReadonlySet<string>): ReadonlyMap<string, Span> =>
  asJson(() => measureMembers(bytes, names, REQUEST_JSON_LIMITS)).members;

/** The value of a member that is a short text. */
export function shortText(bytes: Buffer, span: Span | undefined): string | undefined {
  const value = span && span.end - span.start <= MAX_TEXT ? valueAt(bytes, span) : undefined;
  return typeof value === 'string' ? value : undefined;
}

const MAX_TEXT = 1_000;

/** Of a batch or a conversation; empty without any. */
export function readMetadata(bytes: Buffer, span: Span | undefined): Metadata {
  if (span && span.end - span.start > METADATA.bytes)
    throw failAt('invalid_value', 'metadata', `expected at most ${METADATA.bytes / 1024} KiB of JSON.`);
  const given: unknown = valueAt(bytes, span) ?? {};
  const entries = typeof given === 'object' && given !== null ? Object.entries(given) : undefined;
  if (entries && entries.length <= METADATA.entries && entries.every(isValid)) return Object.fromEntries(entries);
  throw failAt(
    'invalid_value',
    'metadata',
    `expected at most ${METADATA.entries} texts of ${METADATA.valueChars} characters.`,
  );
}

const isValid = ([name, value]: [string, unknown]): boolean =>
  name.length <= METADATA.nameChars && typeof value === 'string' && value.length <= METADATA.valueChars;
