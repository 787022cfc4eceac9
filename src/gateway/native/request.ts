/**
 * The body of a native JSON request, scanned just far enough to route and admit it. The bytes stay as they came; `bytesFor`
 * replaces the model's name in them and nothing else.
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { fail, JsonScanError, type Span, scanMembers, splice, valueAt } from '../../core/index.ts';
import { rejectWrongDialect } from '../../dialects/index.ts';
import {
  type ChosenTier,
  chosenTiers,
  type InferenceOperation,
  JSON_LIMITS,
  TIER_FIELD_NAMES,
} from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';

export interface NativeBody {
  readonly model: Model;
  readonly isStream: boolean;
  readonly previousId: string | undefined;
  readonly maxOutput: number | undefined;
  readonly tiers: readonly ChosenTier[];
  bytesFor(account: Account): Buffer;
}

const WANTED: ReadonlySet<string> = new Set([
  'model',
  'stream',
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
  'conversation',
  ...TIER_FIELD_NAMES,
]);

export function readNative(operation: InferenceOperation, body: Buffer, caller: Caller, catalog: Catalog): NativeBody {
  const members = scanBody(body, WANTED);
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && asJson(() => valueAt(body, span));
  };
  if (read('background') === true) {
    throw fail('unsupported_parameter', 'background: background responses are not supported.', {
      param: 'background',
    });
  }
  const model = resolveModel(catalog, caller, read('model'));
  const previousId = read('previous_response_id');
  return {
    model,
    isStream: read('stream') === true,
    previousId: typeof previousId === 'string' ? previousId : undefined,
    maxOutput: maxOutputOf(operation, read),
    tiers: chosenTiers(read),
    bytesFor: (account) => withModel(body, members.get('model'), model.name, upstreamName(model, account)),
  };
}

/** Largest number of output tokens, all choices together; undefined when the request sets no limit. */
function maxOutputOf(operation: InferenceOperation, read: (name: string) => unknown): number | undefined {
  const choices = choicesOf(read('n'));
  if (operation === 'embeddings.create') return 0;
  const limit = read('max_completion_tokens') ?? read('max_output_tokens') ?? read('max_tokens');
  return typeof limit === 'number' && limit >= 0 ? limit * choices : undefined;
}

/** A provider may round a fraction up. */
const choicesOf = (value: unknown): number =>
  typeof value === 'number' ? Math.min(Math.max(1, Math.ceil(value) || 1), MAX_CHOICES) : 1;
const MAX_CHOICES = 1_000_000_000;

/** Checks a generate-content body, whose model stands in the path. Returns its output limit, if it sets one, and its tier. */
export function checkNativeBody(body: Buffer): Pick<NativeBody, 'maxOutput' | 'tiers'> {
  const members = scanBody(body, WANTED);
  if (!members.has('contents') && (members.has('messages') || members.has('input')))
    rejectWrongDialect(asJson(() => JSON.parse(new TextDecoder().decode(body))));
  const config = members.get('generationConfig') ?? members.get('generation_config');
  const { maxOutputTokens } =
    ((config ? asJson(() => valueAt(body, config)) : {}) as { maxOutputTokens?: unknown } | null) ?? {};
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && asJson(() => valueAt(body, span));
  };
  return { maxOutput: typeof maxOutputTokens === 'number' ? maxOutputTokens : undefined, tiers: chosenTiers(read) };
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

/** The body with the model's name replaced, or put in where the body has none. `named` is the name in the body. */
export function withModel(body: Buffer, span: Span | undefined, named: string | undefined, upstream: string): Buffer {
  if (span && named === upstream) return body;
  const value = Buffer.from(JSON.stringify(upstream));
  if (span) return splice(body, span, value);
  const brace = body.indexOf(0x7b) + 1;
  const isEmpty = /^\s*\}/.test(body.toString('latin1', brace, brace + 64));
  return splice(
    body,
    { start: brace, end: brace },
    Buffer.concat([Buffer.from('"model":'), value, Buffer.from(isEmpty ? '' : ',')]),
  );
}
