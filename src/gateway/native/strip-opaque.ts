/**
 * Removal of opaque values from a native request; every other byte stays.
 * Only opaque members count: a caller may write the same characters in a text.
 */
import * as core from '../../core/index.ts';
import * as dialects from '../../dialects/index.ts';
import { type Dialect, JSON_LIMITS } from '../../rules/index.ts';
import { mayHoldOwn } from '../request-scan.ts';

const PREFIXES = [dialects.ENVELOPE_PREFIX, dialects.BYTES_ENVELOPE_PREFIX, dialects.SYNTHETIC_PREFIX].map((text) =>
  Buffer.from(text),
);

/** What is removed. `mayHold` is a native search over the bytes, after which nearly every request and value is done. */
interface Sought {
  mayHold(bytes: Buffer): boolean;
  isBlock(value: unknown): boolean;
  isItem(value: unknown): boolean;
  isExtra(value: unknown): boolean;
  isSignature(value: unknown): boolean;
}

const ENVELOPES: Sought = {
  mayHold: mayHoldEnvelope,
  isBlock: isEnvelopeBlock,
  isItem: isEnvelopeItem,
  isExtra: (value) => isEnvelopeText(signatureIn(value)),
  isSignature: (value) => isEnvelopeText(value),
};

/** Summaries stay: without them the history is lost. */
const OPAQUE_VALUES: Sought = {
  mayHold: holdsOpaque,
  isBlock: (value) => ['thinking', 'redacted_thinking'].includes(typeOf(value)),
  isItem: (value) => typeOf(value) === 'reasoning',
  isExtra: (value) => signatureIn(value) !== undefined,
  isSignature: () => true,
};

/** `names` gets what was removed, by the names of `x-gateway-dropped`. */
export function stripEnvelopes(
  body: Buffer,
  dialect: Dialect,
  steps: core.StepBudget,
  names: Set<string> = new Set(),
): Buffer {
  const noted =
    (is: (value: unknown) => boolean) =>
    (value: unknown): boolean => {
      const isFound = is(value);
      if (isFound) names.add(nameOf(value, dialect));
      return isFound;
    };
  const sought: Sought = {
    mayHold: mayHoldEnvelope,
    isBlock: noted(ENVELOPES.isBlock),
    isItem: noted(ENVELOPES.isItem),
    isExtra: noted(ENVELOPES.isExtra),
    isSignature: noted(ENVELOPES.isSignature),
  };
  return strip(body, dialect, sought, steps);
}

/** The type is the caller's, so that only known ones are named by it. */
function nameOf(value: unknown, dialect: Dialect): string {
  const { thoughts, conversation } = dialects.codecOf(dialect).client.fieldNames;
  if (typeOf(value) === 'compaction') return `${conversation}.compaction`;
  const { id, tool_use_id: toolUseId } = (value ?? {}) as { id?: unknown; tool_use_id?: unknown };
  return isSyntheticId(id) || isSyntheticId(toolUseId) ? `${conversation}.server_tool_use` : thoughts;
}

/** The reasoning goes with its value: a provider rejects one without the other. */
export const stripOpaque = (body: Buffer, dialect: Dialect, steps: core.StepBudget): Buffer =>
  strip(body, dialect, OPAQUE_VALUES, steps);

const OPAQUE_WORDS = ['thinking', 'reasoning', 'hought_signature', 'houghtSignature'].map((word) => Buffer.from(word));

/** False is certain. */
export function holdsOpaque(bytes: Buffer): boolean {
  return OPAQUE_WORDS.some((word) => bytes.includes(word));
}

function strip(body: Buffer, dialect: Dialect, sought: Sought, steps: core.StepBudget): Buffer {
  if (!sought.mayHold(body)) return body;
  const root = { start: body.indexOf(OPEN), end: body.length };
  try {
    // Limits first: what follows builds a list of all elements.
    steps.take(core.measureMembers(body, core.NO_MEMBERS, JSON_LIMITS).values);
    if (dialect === 'generate') return core.spliceAll(body, signatureChanges(body, root, sought));
    return core.spliceAll(
      body,
      CUTS[dialect](body, root, sought).map((span) => ({ span, bytes: NOTHING })),
    );
  } catch (error) {
    // Invalid or too large JSON: the next reader of the body rejects it.
    if (error instanceof core.JsonScanError) return body;
    throw error;
  }
}

/**
 * Whether a responses request carries a summary that the gateway wrote:
 * no provider can read it, and without it the history is lost.
 */
export function holdsOwnSummary(body: Buffer): boolean {
  if (!mayHoldEnvelope(body)) return false;
  const root = { start: body.indexOf(OPEN), end: body.length };
  try {
    core.measureMembers(body, core.NO_MEMBERS, JSON_LIMITS);
    return listAt(body, root, 'input').some((span) => holds(body, span, ENVELOPES, isOwnSummary));
  } catch (error) {
    if (error instanceof core.JsonScanError) return false;
    throw error;
  }
}

const OPEN = 0x7b;

export function mayHoldEnvelope(bytes: Buffer): boolean {
  return mayHoldOwn(bytes) && PREFIXES.some((prefix) => bytes.includes(prefix));
}

/** Parses only values that may hold what is sought; a body may have a million others. */
const holds = (body: Buffer, span: core.Span, { mayHold }: Sought, is: (value: unknown) => boolean): boolean =>
  mayHold(body.subarray(span.start, span.end)) && is(core.valueAt(body, span));

const CUTS: Record<Exclude<Dialect, 'generate'>, (body: Buffer, root: core.Span, sought: Sought) => core.Span[]> = {
  messages: messageCuts,
  responses: (body, root, sought) =>
    elementCuts(listAt(body, root, 'input'), (span) => holds(body, span, sought, sought.isItem)),
  chat: callCuts,
};

const SIGNATURES: ReadonlySet<string> = new Set(['thoughtSignature', 'thought_signature']);
const CALLS: ReadonlySet<string> = new Set(['functionCall', 'function_call']);
const PLACEHOLDER = Buffer.from(JSON.stringify(dialects.PLACEHOLDER_SIGNATURE));
const NOTHING = Buffer.alloc(0);

/** Models that sign their calls demand a signature with each; the provider documents a placeholder. */
function signatureChanges(body: Buffer, root: core.Span, sought: Sought): core.SpanChange[] {
  return listAt(body, root, 'contents')
    .flatMap((content) => listAt(body, content, 'parts'))
    .filter((part) => sought.mayHold(body.subarray(part.start, part.end)))
    .flatMap((part) => {
      const isCall = core.membersAt(body, part, CALLS).size > 0;
      return [...core.membersAt(body, part, SIGNATURES)].flatMap(([name, span]) => {
        if (!sought.isSignature(core.valueAt(body, span))) return [];
        const whole = isCall ? undefined : memberCut(body, span, name);
        return whole ? [{ span: whole, bytes: NOTHING }] : [{ span, bytes: PLACEHOLDER }];
      });
    });
}

const EXTRA = 'extra_content';

/** Removes the member that holds the value; the tool call stays. */
function callCuts(body: Buffer, root: core.Span, sought: Sought): core.Span[] {
  return listAt(body, root, 'messages')
    .flatMap((message) => listAt(body, message, 'tool_calls'))
    .flatMap((call) => core.spanAt(body, call, EXTRA) ?? [])
    .filter((extra) => holds(body, extra, sought, sought.isExtra))
    .flatMap((extra) => memberCut(body, extra, EXTRA) ?? []);
}

const signatureIn = (value: unknown): unknown =>
  (value as { google?: { thought_signature?: unknown } | null } | null)?.google?.thought_signature;

const typeOf = (value: unknown): string => String((value as { type?: unknown } | null)?.type);

/** The span of a member with its name and one comma; undefined when the name contains escapes. */
export function memberCut(body: Buffer, value: core.Span, name: string): core.Span | undefined {
  const colon = spaceBefore(body, value.start) - 1;
  const nameEnd = spaceBefore(body, colon);
  const start = nameEnd - name.length - 2;
  if (body.toString('latin1', start, nameEnd) !== `"${name}"`) return undefined;
  const before = spaceBefore(body, start);
  if (body[before - 1] === COMMA) return { start: before - 1, end: value.end };
  const after = spaceAfter(body, value.end);
  return { start, end: body[after] === COMMA ? spaceAfter(body, after + 1) : value.end };
}

const COMMA = 0x2c;
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function spaceBefore(body: Buffer, at: number): number {
  let start = at;
  while (isSpace(body[start - 1])) start -= 1;
  return start;
}

function spaceAfter(body: Buffer, at: number): number {
  let end = at;
  while (isSpace(body[end])) end += 1;
  return end;
}

function messageCuts(body: Buffer, root: core.Span, sought: Sought): core.Span[] {
  const messages = listAt(body, root, 'messages');
  const inner = new Map(messages.map((message) => [message, contentCuts(body, message, sought)]));
  // A message without remaining blocks is removed, because the provider rejects empty messages.
  return [
    ...elementCuts(messages, (message) => inner.get(message)?.isEmpty === true),
    ...messages.flatMap((message) => (inner.get(message)?.isEmpty ? [] : (inner.get(message)?.cuts ?? []))),
  ];
}

function contentCuts(body: Buffer, message: core.Span, sought: Sought): { cuts: core.Span[]; isEmpty: boolean } {
  const blocks = listAt(body, message, 'content');
  const gone = new Set(blocks.filter((block) => holds(body, block, sought, sought.isBlock)));
  return {
    cuts: elementCuts(blocks, (block) => gone.has(block)),
    isEmpty: blocks.length > 0 && gone.size === blocks.length,
  };
}

const listAt = (body: Buffer, object: core.Span, name: string): core.Span[] =>
  core.elementsAt(body, core.spanAt(body, object, name));

function isEnvelopeBlock(value: unknown): boolean {
  const block = value as Readonly<Record<string, unknown>> | null;
  if (block?.type === 'thinking') return isEnvelopeText(block.signature);
  if (block?.type === 'redacted_thinking') return isEnvelopeText(block.data);
  if (block?.type === 'compaction') return isEnvelopeText(block.encrypted_content);
  return isSyntheticId(block?.id) || isSyntheticId(block?.tool_use_id);
}

function isEnvelopeItem(value: unknown): boolean {
  const item = value as { type?: unknown; encrypted_content?: unknown } | null;
  return (item?.type === 'reasoning' || item?.type === 'compaction') && isEnvelopeText(item.encrypted_content);
}

const isOwnSummary = (value: unknown): boolean =>
  (value as { type?: unknown } | null)?.type === 'compaction' && isEnvelopeItem(value);

const isSyntheticId = (value: unknown): boolean => typeof value === 'string' && dialects.isSynthetic(value);
const isEnvelopeText = (value: unknown): boolean => typeof value === 'string' && dialects.isEnvelope(value);

/** The spans that remove the chosen elements together with exactly their commas. */
function elementCuts(elements: readonly core.Span[], isGone: (element: core.Span) => boolean): core.Span[] {
  const cuts: core.Span[] = [];
  let before: core.Span | undefined;
  let hasKept = false;
  for (const element of elements) {
    if (!isGone(element)) {
      // Elements in front of the first kept one lose the comma behind them; later ones the comma in front.
      if (!hasKept && before) cuts.push({ start: elements[0]?.start ?? 0, end: element.start });
      hasKept = true;
    } else if (hasKept) cuts.push({ start: before?.end ?? element.start, end: element.end });
    before = element;
  }
  const [first] = elements;
  return !hasKept && first && before ? [{ start: first.start, end: before.end }] : cuts;
}
