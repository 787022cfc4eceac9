/**
 * The body of a native JSON request, scanned just far enough to route and admit it. The bytes stay as they came; `bytesFor`
 * replaces the model's name, and asks for the usage of chat streams (ADR 13).
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import {
  fail,
  hasEscapedLetters,
  JsonScanError,
  type Span,
  scanMembers,
  splice,
  spliceAll,
  valueAt,
} from '../../core/index.ts';
import { rejectWrongDialect } from '../../dialects/index.ts';
import {
  type ChosenTier,
  chosenTiers,
  type InferenceOperation,
  inferenceRow,
  JSON_LIMITS,
  OUTPUT_LIMITS,
  TIER_FIELD_NAMES,
} from '../../rules/index.ts';
import { SESSION_MEMBERS, sessionInBody } from '../affinity.ts';
import { DEFAULT_MAX_OUTPUT } from '../billing/admission.ts';
import { inputBoundsOfBody, type ToolBounds, toolBoundsOf } from '../billing/request-bounds.ts';
import type { Caller } from '../caller.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';
import { asksForUsage, USAGE_OPTION, usageOptionChange } from './hidden-usage.ts';
import type { RequestBounds } from './native-request.ts';

export interface NativeBody {
  readonly model: Model;
  readonly isStream: boolean;
  readonly isBackground: boolean;
  readonly previousId: string | undefined;
  readonly session: string | undefined;
  readonly bounds: RequestBounds;
  readonly tiers: readonly ChosenTier[];
  /** The gateway asks for usage that the client did not ask for. */
  readonly hidesUsage: boolean;
  bytesFor(account: Account, asksForUsage: boolean): Buffer;
}

const WANTED: ReadonlySet<string> = new Set([
  'model',
  'stream',
  USAGE_OPTION,
  'previous_response_id',
  'background',
  'contents',
  'messages',
  'input',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'n',
  'generationConfig',
  'generation_config',
  'tools',
  'web_search_options',
  'conversation',
  ...SESSION_MEMBERS,
  ...TIER_FIELD_NAMES,
]);

export function readNative(operation: InferenceOperation, body: Buffer, caller: Caller, catalog: Catalog): NativeBody {
  const members = scanBody(body, WANTED);
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && asJson(() => valueAt(body, span));
  };
  const isBackground = read('background') === true;
  if (isBackground && (operation !== 'responses.create' || !caller.key.store)) throw noBackground(caller);
  const model = resolveModel(catalog, caller, read('model'));
  const previousId = read('previous_response_id');
  const isStream = read('stream') === true;
  const options = operation === 'chat.create' && isStream ? read(USAGE_OPTION) : undefined;
  const hidesUsage = operation === 'chat.create' && isStream && !asksForUsage(options);
  const named = members.get('model');
  return {
    model,
    isStream,
    isBackground,
    hidesUsage,
    session: sessionInBody(operation === 'messages.create' ? 'messages' : 'responses', read),
    previousId: typeof previousId === 'string' ? previousId : undefined,
    bounds: {
      ...asJson(() => inputBoundsOfBody(body)),
      ...toolBounds(body, members),
      maxOutput: inferenceRow(operation).vectors ? 0 : maxOutputOf(operation, read),
    },
    tiers: chosenTiers(read),
    bytesFor(account, isUsageAsked) {
      const upstream = upstreamName(model, account);
      const rename = named && model.name !== upstream ? [{ span: named, bytes: jsonBytes(upstream) }] : [];
      const brace = body.indexOf(OPEN_BRACE) + 1;
      const ask = isUsageAsked ? [usageOptionChange(options, members.get(USAGE_OPTION), brace)] : [];
      return spliceAll(body, [...rename, ...ask]);
    },
  };
}

const noBackground = ({ key }: Caller) =>
  fail(
    'unsupported_parameter',
    key.store
      ? 'background: only POST /v1/responses makes background responses; leave the field out.'
      : 'background: this API key stores no responses, so that the result could not be read; leave the field out.',
    { param: 'background' },
  );

/** Largest number of output tokens, all choices together; undefined when the request sets no limit. */
const maxOutputOf = (operation: InferenceOperation, read: (name: string) => unknown): number | undefined =>
  times(choicesOf(read('n')), oneLimit(OUTPUT_LIMITS[operation] ?? [], read));

/** The limit holds for each of several choices, and so does the default where a request sets none. */
function times(choices: number, limit: number | undefined): number | undefined {
  if (limit !== undefined) return limit * choices;
  return choices > 1 ? DEFAULT_MAX_OUTPUT * choices : undefined;
}

/** The value of a limit with several names. Different values are rejected: providers differ on which one counts. */
function oneLimit(names: readonly string[], read: (name: string) => unknown): number | undefined {
  const limits = names.flatMap((name) => {
    const value = read(name);
    return typeof value === 'number' ? [{ name, value }] : [];
  });
  const [first, second] = limits;
  if (first && second && first.value !== second.value)
    throw fail('invalid_value', `${second.name}: contradicts ${first.name}; send one of them.`, { param: second.name });
  return first && first.value > 0 ? first.value : undefined;
}

const EMPTY = Buffer.alloc(0);
const SEARCH = Buffer.from('earch');
const DRAW = Buffer.from('image_generation');

/** Reads the tools only when they may search or draw. */
function toolBounds(body: Buffer, members: ReadonlyMap<string, Span>): ToolBounds {
  const span = members.get('tools');
  const bytes = span ? body.subarray(span.start, span.end) : EMPTY;
  const isWanted = bytes.includes(SEARCH) || bytes.includes(DRAW) || hasEscapedLetters(bytes);
  return toolBoundsOf(
    span && isWanted ? asJson(() => valueAt(body, span)) : undefined,
    members.has('web_search_options'),
  );
}

/** A provider may round a fraction up. */
const choicesOf = (value: unknown): number =>
  typeof value === 'number' ? Math.min(Math.max(1, Math.ceil(value) || 1), MAX_CHOICES) : 1;
const MAX_CHOICES = 1_000_000_000;

/** Checks a generate-content body, whose model is in the path. */
export function checkNativeBody(body: Buffer): Pick<NativeBody, 'bounds' | 'tiers'> {
  const members = scanBody(body, WANTED);
  if (!members.has('contents') && (members.has('messages') || members.has('input')))
    rejectWrongDialect(asJson(() => JSON.parse(new TextDecoder().decode(body))));
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && asJson(() => valueAt(body, span));
  };
  return {
    bounds: {
      ...asJson(() => inputBoundsOfBody(body)),
      ...toolBounds(body, members),
      maxOutput: maxCandidateOutput(read),
    },
    tiers: chosenTiers(read),
  };
}

/** Both spellings of a name are accepted, but not together. */
function maxCandidateOutput(read: (name: string) => unknown): number | undefined {
  const config = oneOf(['generationConfig', 'generation_config'], read);
  if (typeof config !== 'object' || config === null) return undefined;
  const member = (name: string): unknown => (config as Record<string, unknown>)[name];
  const limit = oneOf(['maxOutputTokens', 'max_output_tokens'], member);
  const candidates = choicesOf(oneOf(['candidateCount', 'candidate_count'], member));
  return times(candidates, typeof limit === 'number' && limit > 0 ? limit : undefined);
}

function oneOf(names: readonly [string, string], read: (name: string) => unknown): unknown {
  const [first, second] = names.map(read);
  if (first !== undefined && second !== undefined)
    throw fail('invalid_value', `${names[1]}: the field occurs twice, also as ${names[0]}; send one of them.`, {
      param: names[1],
    });
  return first ?? second;
}

/** Spans of the wanted members of a JSON body within its limits. */
export function scanBody(body: Buffer, wanted: ReadonlySet<string>): Map<string, Span> {
  if (body.length === 0) throw fail('invalid_request', 'The body is empty; a JSON object is expected.');
  return asJson(() => scanMembers(body, wanted, JSON_LIMITS));
}

/** The scan skips the content of long strings, so reading a member may still fail. */
export function asJson<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonScanError) throw fail('invalid_request', error.message);
    if (error instanceof SyntaxError) throw fail('invalid_request', 'The body is not valid JSON.');
    throw error;
  }
}

const OPEN_BRACE = 0x7b;
const jsonBytes = (text: string): Buffer => Buffer.from(JSON.stringify(text));

/** The body with the model's name replaced, or put in where the body has none. `named` is the name in the body. */
export function withModel(body: Buffer, span: Span | undefined, named: string | undefined, upstream: string): Buffer {
  if (span && named === upstream) return body;
  const value = jsonBytes(upstream);
  if (span) return splice(body, span, value);
  const brace = body.indexOf(OPEN_BRACE) + 1;
  const isEmpty = /^\s*\}/.test(body.toString('latin1', brace, brace + 64));
  return splice(
    body,
    { start: brace, end: brace },
    Buffer.concat([Buffer.from('"model":'), value, Buffer.from(isEmpty ? '' : ',')]),
  );
}
