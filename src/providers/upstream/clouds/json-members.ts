/**
 * Changes of a request for a cloud: of headers, and of top-level members of a JSON body
 * that passed the scanner. The rest keeps its bytes.
 */
import { type Span, scanMembers, spliceAll } from '../../../core/index.ts';
import type { HttpRequest } from '../../../platform/http/index.ts';

const UNBOUNDED = { depth: Number.POSITIVE_INFINITY, tokens: Number.POSITIVE_INFINITY };
const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export interface MemberChanges {
  readonly remove: readonly string[];
  /** Members that come first, as JSON. One that the body has already is replaced. */
  readonly add: Readonly<Record<string, string>>;
}

export function changeMembers(bytes: Buffer, { remove, add }: MemberChanges): Buffer {
  const members = scanMembers(bytes, new Set([...remove, ...Object.keys(add)]), UNBOUNDED);
  const spans = [...members.values()].map((span) => wholeMember(bytes, span));
  const rest = spliceAll(
    bytes,
    withCommaBefore(bytes, spans).map((span) => ({ span, bytes: NOTHING })),
  );
  const open = rest.indexOf(OPEN_OBJECT) + 1;
  const added = Object.entries(add).map(([name, json]) => `${JSON.stringify(name)}:${json}`);
  const isEmpty = /^\s*\}\s*$/.test(rest.toString('latin1', open, open + 64));
  const text = added.join(',') + (isEmpty || added.length === 0 ? '' : ',');
  return Buffer.concat([rest.subarray(0, open), Buffer.from(text), rest.subarray(open)]);
}

export function memberOf(bytes: Buffer, name: string): Buffer | undefined {
  const span = scanMembers(bytes, new Set([name]), UNBOUNDED).get(name);
  return span && bytes.subarray(span.start, span.end);
}

const NOTHING = Buffer.alloc(0);

/** From the name of the member to the comma behind it, if there is one. */
function wholeMember(bytes: Buffer, { start, end }: Span): Span {
  const next = skipSpace(bytes, end, 1);
  return { start: nameStart(bytes, start), end: bytes[next] === COMMA ? next + 1 : end };
}

/** Names that are looked for contain no quote, so the next one to the left begins the name. */
function nameStart(bytes: Buffer, valueStart: number): number {
  const colon = skipSpace(bytes, valueStart - 1, -1);
  const close = skipSpace(bytes, (bytes[colon] === COLON ? colon : valueStart) - 1, -1);
  return bytes.lastIndexOf(QUOTE, close - 1);
}

function skipSpace(bytes: Buffer, from: number, step: 1 | -1): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += step;
  return at;
}

/** Without the last members, the comma before them goes too. */
function withCommaBefore(bytes: Buffer, spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const span of spans.toSorted((one, other) => one.start - other.start)) {
    const last = joined.at(-1);
    if (last && skipSpace(bytes, last.end, 1) === span.start) joined[joined.length - 1] = { ...last, end: span.end };
    else joined.push(span);
  }
  const last = joined.at(-1);
  if (!last || bytes[skipSpace(bytes, last.end, 1)] !== CLOSE_OBJECT) return joined;
  const before = skipSpace(bytes, last.start - 1, -1);
  return bytes[before] === COMMA ? [...joined.slice(0, -1), { start: before, end: last.end }] : joined;
}

/** With a query, which only asks for betas. */
export const MESSAGES_PATH = /^\/v1\/messages(\/count_tokens|)(?:\?|$)/;

/** Undefined for a body that is streamed, and for none. */
export function wholeBody(body: HttpRequest['body']): Buffer | undefined {
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.isBuffer(body) ? body : undefined;
}

export function withoutHeaders(headers: readonly string[], isNotSent: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let n = 0; n < headers.length; n += 2)
    if (!isNotSent(headers[n] ?? '')) kept.push(headers[n] ?? '', headers[n + 1] ?? '');
  return kept;
}
