/**
 * The body of a native JSON request, scanned just far enough to route and admit it. The bytes stay as they came; `bytesFor`
 * replaces the model's name in them and nothing else.
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { fail, JsonScanError, type Span, scanMembers, splice, valueAt } from '../../core/index.ts';
import { rejectWrongDialect } from '../../dialects/index.ts';
import { type InferenceOperation, JSON_LIMITS } from '../../rules/index.ts';
import type { ImageCount } from '../billing/admission.ts';
import type { Caller } from '../caller.ts';
import { resolveModel, upstreamName } from '../models/resolve.ts';

export interface NativeBody {
  readonly model: Model;
  readonly isStream: boolean;
  readonly previousId: string | undefined;
  readonly maxOutput: number | undefined;
  readonly images: ImageCount | undefined;
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
  'size',
  'quality',
  'generationConfig',
  'generation_config',
]);

export function readNative(operation: InferenceOperation, body: Buffer, caller: Caller, catalog: Catalog): NativeBody {
  const members = scan(body);
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && asJson(() => valueAt(body, span));
  };
  if (read('background') === true) {
    throw fail('unsupported_parameter', 'background: background responses are not supported.', {
      param: 'background',
    });
  }
  const span = members.get('model');
  const named = span ? read('model') : defaultModel(operation, caller, catalog);
  const model = resolveModel(catalog, caller, named);
  const previousId = read('previous_response_id');
  return {
    model,
    isStream: read('stream') === true,
    previousId: typeof previousId === 'string' ? previousId : undefined,
    maxOutput: maxOutputOf(operation, read),
    images: operation === 'images.generate' ? imagesOf(read) : undefined,
    bytesFor: (account) => withModel(body, span, model.name, upstreamName(model, account)),
  };
}

/** Largest number of output tokens, all choices together; undefined when the request sets no limit. */
function maxOutputOf(operation: InferenceOperation, read: (name: string) => unknown): number | undefined {
  const choices = choicesOf(read('n'));
  if (operation === 'embeddings.create') return 0;
  if (operation.startsWith('images.')) return choices * IMAGE_TOKENS;
  const limit = read('max_completion_tokens') ?? read('max_output_tokens') ?? read('max_tokens');
  return typeof limit === 'number' && limit >= 0 ? limit * choices : undefined;
}

export const imagesOf = (read: (name: string) => unknown): ImageCount => ({
  kind: `${wordOf(read('size'))}/${wordOf(read('quality'))}`.slice(0, 64).toWellFormed(),
  count: choicesOf(read('n')),
});

/** Rounds up, because a provider may make a whole image of a fraction. Forms carry numbers as text. */
const choicesOf = (value: unknown): number =>
  Math.min(Math.max(1, Math.ceil(Number(isPlain(value) ? value : 1)) || 1), MAX_CHOICES);
/** The largest count that a usage record may hold. */
const MAX_CHOICES = 1_000_000_000;

/** Removes NUL characters: PostgreSQL cannot store them, and a record that cannot be stored is never charged. */
const wordOf = (value: unknown): string => (isPlain(value) ? String(value).replaceAll('\0', '') : 'auto');
const isPlain = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';

/** Output tokens of a 4K image of high quality, the most that one image costs. */
export const IMAGE_TOKENS = 16_384;

/** Checks a generate-content body, whose model stands in the path. Returns its output limit, if it sets one. */
export function checkNativeBody(body: Buffer): number | undefined {
  const members = scan(body);
  if (!members.has('contents') && (members.has('messages') || members.has('input')))
    rejectWrongDialect(asJson(() => JSON.parse(new TextDecoder().decode(body))));
  const config = members.get('generationConfig') ?? members.get('generation_config');
  const { maxOutputTokens } =
    ((config ? asJson(() => valueAt(body, config)) : {}) as { maxOutputTokens?: unknown } | null) ?? {};
  return typeof maxOutputTokens === 'number' ? maxOutputTokens : undefined;
}

function scan(body: Buffer): Map<string, Span> {
  if (body.length === 0) throw fail('invalid_request', 'The body is empty; a JSON object is expected.');
  return asJson(() => scanMembers(body, WANTED, JSON_LIMITS));
}

/** The scan skips the content of long strings, so reading a member may still fail. */
function asJson<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonScanError) throw fail('invalid_request', error.message);
    if (error instanceof SyntaxError) throw fail('invalid_request', 'The body is not valid JSON.');
    throw error;
  }
}

function withModel(body: Buffer, span: Span | undefined, named: string, upstream: string): Buffer {
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

/** Image requests may omit the model (G 2): then the first image model of the group is used. */
function defaultModel(operation: InferenceOperation, caller: Caller, catalog: Catalog): string | undefined {
  if (operation !== 'images.generate') return undefined;
  return catalog.lines(caller.group.id).find(({ pattern }) => pattern.includes('image') && !pattern.includes('*'))
    ?.pattern;
}
