/**
 * The tap of a response in one piece: reads single members of the body,
 * and parses all of it only when it is small or unusual.
 */
import * as core from '../../core/index.ts';
import { codecOf, type HubUsage } from '../../dialects/index.ts';
import type { Dialect } from '../../rules/index.ts';
import { reportIn } from '../billing/failed-usage.ts';
import { modelName, withServiceTier } from '../billing/usage.ts';
import { cutText, wholeText } from '../billing/visible-text.ts';
import { MODEL_MEMBER } from '../request-scan.ts';
import { FILE_MARK, madeFiles, ownedIds } from '../stored/owned-ids.ts';
import { groundingOf, hasMembers, reportOf, searchesInBody } from './searches.ts';
import * as taps from './usage-tap.ts';

const UNARY_LIMITS = { depth: 512, tokens: 10_000_000 };

export class UnaryTap implements taps.Tap {
  readonly isFinishing = false;
  readonly #dialect: Dialect;
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  push(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#isKept) this.#chunks.push(chunk);
  }

  get outputTokens(): number {
    return this.#isKept ? core.estimateTokens(visibleIn(this.#dialect, this.#body.toString('utf8'))) : 0;
  }

  get reportOfCut(): HubUsage | undefined {
    return this.#isKept ? reportIn(codecOf(this.#dialect).upstream, this.#body.toString('utf8')) : undefined;
  }

  /** A response too large to keep counts as complete, because its HTTP framing was. */
  end(): taps.TapResult {
    if (!this.#isKept) return { ...taps.NOTHING, isComplete: true };
    const body = this.#body;
    return taps.withSearches(readMembers(this.#dialect, body), () => searchesInBody(this.#dialect, body, UNARY_LIMITS));
  }

  get #isKept(): boolean {
    return this.#size <= taps.MAX_KEPT_BYTES;
  }

  get #body(): Buffer {
    return core.concatBuffers(this.#chunks);
  }
}

function visibleIn(dialect: Dialect, body: string): string {
  try {
    return wholeText(dialect, JSON.parse(body));
  } catch {
    return cutText(body);
  }
}

const MEMBERS: ReadonlySet<string> = new Set([
  'usage',
  'usageMetadata',
  'tool_usage',
  'service_tier',
  'id',
  'output',
  'container',
  'content',
  'model',
  'modelVersion',
]);
const ITEM_IDS: ReadonlySet<string> = new Set(['id', 'container_id']);
const TIER_NAME = Buffer.from('service_tier');

/** Below this size JSON.parse is faster than the scan for single members (3.5 against 8.6 us for 1 KB). */
const PARSED_BYTES = 8 * 1024;

const BACKSLASH = 0x5c;
/** Most replies say that there is none. */
const CONTAINER = Buffer.from('"container"');
const NO_CONTAINER = /^\s*:\s*null/;
const MAX_MEMBER_BYTES = 32;
const NAMES = { usage: Buffer.from('"usage"'), usageMetadata: Buffer.from('"usageMetadata"') } as const;

/**
 * Usage stands near the end, so only the text from there on is parsed.
 * It counts only when it closes the outermost object, which no inner text can do.
 */
function readEnd(dialect: Dialect, body: Buffer): taps.TapResult | undefined {
  const { member } = taps.USAGE_FORMS[dialect];
  const at = dialect === 'responses' ? -1 : body.lastIndexOf(NAMES[member]);
  // After a backslash the quote belongs to a longer name.
  if (at < 0 || body[at - 1] === BACKSLASH) return undefined;
  if (dialect === 'messages' && mayHaveContainer(body)) return undefined;
  try {
    const rest = JSON.parse(`{${body.toString('utf8', at)}`) as taps.TappedEvent;
    // The tier may precede the usage.
    if (dialect === 'chat' && rest.service_tier === undefined && body.includes(TIER_NAME)) return undefined;
    const model = dialect === 'generate' ? modelName(rest.modelVersion) : (modelInHead(body) ?? modelInBody(body));
    return { ...taps.NOTHING, usage: readReported(dialect, rest[member], rest), model, isComplete: true };
  } catch {
    return undefined;
  }
}

function mayHaveContainer(body: Buffer): boolean {
  const at = body.indexOf(CONTAINER);
  if (at < 0) return false;
  const from = at + CONTAINER.length;
  return !NO_CONTAINER.test(body.toString('latin1', from, from + MAX_MEMBER_BYTES)) || body.includes(CONTAINER, from);
}

/** In front of every nested value, so that nothing of the content can stand there. */
function modelInHead(body: Buffer): string | undefined {
  let end = 1;
  while (end < HEAD_BYTES && end < body.length && body[end] !== BRACE && body[end] !== BRACKET) end += 1;
  return /"model"\s*:\s*"([^"\\]{1,200})"/.exec(body.toString('latin1', 0, end))?.[1];
}
const HEAD_BYTES = 1_024;
const BRACE = 0x7b;
const BRACKET = 0x5b;

function modelInBody(body: Buffer): string | undefined {
  return modelName(core.valueAt(body, core.scanMembers(body, MODEL_MEMBER, UNARY_LIMITS).get('model')));
}

function readMembers(dialect: Dialect, body: Buffer): taps.TapResult {
  const end = readEnd(dialect, body);
  if (end) return end;
  if (body.length <= PARSED_BYTES) return readParsed(dialect, body);
  try {
    const members = core.scanMembers(body, MEMBERS, UNARY_LIMITS);
    const read = (name: string): unknown => core.valueAt(body, members.get(name));
    const id = read('id');
    return {
      usage: readReported(dialect, read(taps.USAGE_FORMS[dialect].member), {
        service_tier: read('service_tier'),
        tool_usage: read('tool_usage'),
      }),
      isComplete: true,
      isError: false,
      id: typeof id === 'string' ? id : undefined,
      model: modelName(taps.USAGE_FORMS[dialect].modelOf({ model: read('model'), modelVersion: read('modelVersion') })),
      ownedIds: [
        ...scanOwnedIds(body, members.get('output')),
        ...taps.USAGE_FORMS.messages.ownedIn({ container: read('container') }),
        ...scanFiles(body, members.get('content')),
      ],
      sequence: undefined,
    };
  } catch {
    return readParsed(dialect, body);
  }
}

function scanOwnedIds(body: Buffer, output: core.Span | undefined): string[] {
  return ownedIds(
    core
      .elementsAt(body, output)
      .map((item) =>
        Object.fromEntries(
          [...core.membersAt(body, item, ITEM_IDS)].map(([name, span]) => [name, core.valueAt(body, span)]),
        ),
      ),
  );
}

function scanFiles(body: Buffer, content: core.Span | undefined): string[] {
  if (!body.includes(FILE_MARK)) return [];
  const blocks = core
    .elementsAt(body, content)
    .filter(({ start, end }) => body.subarray(start, end).includes(FILE_MARK));
  return madeFiles(blocks.map((block) => core.valueAt(body, block)));
}

/** Also reads a list, which a generate-content stream without `alt=sse` is, and an object with a duplicate member. */
function readParsed(dialect: Dialect, body: Buffer): taps.TapResult {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (isEmpty(value)) return taps.NOTHING;
    const events = (Array.isArray(value) ? value : [value]) as (taps.TappedEvent | null)[];
    const reporting = events.findLast((event) => event?.[taps.USAGE_FORMS[dialect].member]);
    const id = events[0]?.id;
    return {
      usage: readReported(dialect, reporting?.[taps.USAGE_FORMS[dialect].member], reporting ?? {}),
      isComplete: true,
      isError: events.some((event) => event !== null && isErrorBody(event)),
      id: typeof id === 'string' ? id : undefined,
      model: events[0] ? modelName(taps.USAGE_FORMS[dialect].modelOf(events[0])) : undefined,
      ownedIds: events[0] ? taps.USAGE_FORMS[dialect].ownedIn(events[0]) : [],
      sequence: undefined,
    };
  } catch {
    return taps.NOTHING;
  }
}

/** No reply of any dialect: null, a single value, or an object or list without members. */
const isEmpty = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || Object.keys(value).length === 0;

const readReported = (
  dialect: Dialect,
  usage: unknown,
  { service_tier, tool_usage }: Pick<taps.TappedEvent, 'service_tier' | 'tool_usage'>,
) =>
  codecOf(dialect).upstream.readUsage(withServiceTier(reportOf(usage), service_tier), tool_usage ?? groundingOf(usage));

const isErrorBody = (body: taps.TappedEvent): boolean =>
  (hasMembers(body.error) && body.output === undefined) || body.type === 'error' || body.status === 'failed';
