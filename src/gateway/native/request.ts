/**
 * A native request, read just far enough to route it: the model, whether it streams, and the few members that must be looked
 * at before it may pass. The bytes stay as they came; `bytesFor` replaces the model's name in them and nothing else.
 */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { fail, JsonScanError, type Span, scanMembers, splice, valueAt } from '../../core/index.ts';
import { rejectWrongDialect } from '../../dialects/index.ts';
import { JSON_LIMITS, type TextOperation } from '../../rules/index.ts';
import type { ImageCount } from '../billing/admission.ts';
import type { Caller } from '../caller.ts';
import { resolveModel } from '../models/resolve.ts';

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

export function readNative(operation: TextOperation, body: Buffer, caller: Caller, catalog: Catalog): NativeBody {
  const members = scan(body);
  const read = (name: string): unknown => {
    const span = members.get(name);
    return span && asJson(() => valueAt(body, span));
  };
  if (read('background') === true) {
    throw fail('unsupported_parameter', 'background: responses in the background are not offered.', {
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

/** The most that the answer may hold, all choices together, where the request says so. */
function maxOutputOf(operation: TextOperation, read: (name: string) => unknown): number | undefined {
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

/** What a provider makes of half a picture is not known here: it is charged as a whole one. Forms bring numbers as text. */
const choicesOf = (value: unknown): number =>
  Math.min(Math.max(1, Math.ceil(Number(isPlain(value) ? value : 1)) || 1), MAX_CHOICES);
/** The most that a record may count. */
const MAX_CHOICES = 1_000_000_000;

/** Without zero characters, which PostgreSQL does not store: a record that it refuses is never charged. */
const wordOf = (value: unknown): string => (isPlain(value) ? String(value).replaceAll('\0', '') : 'auto');
const isPlain = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';

/** A 4K image of high quality takes no more. */
export const IMAGE_TOKENS = 16_384;

/** Native bodies name no model; the path does. Answers the limit that the request sets to its answer, if any. */
export function checkNativeBody(body: Buffer): number | undefined {
  const members = scan(body);
  if (!members.has('contents') && (members.has('messages') || members.has('input')))
    rejectWrongDialect(asJson(() => JSON.parse(new TextDecoder().decode(body))));
  const config = members.get('generationConfig') ?? members.get('generation_config');
  const { maxOutputTokens } =
    ((config ? asJson(() => valueAt(body, config)) : {}) as { maxOutputTokens?: unknown } | null) ?? {};
  return typeof maxOutputTokens === 'number' ? maxOutputTokens : undefined;
}

export const upstreamName = (model: Model, account: Account): string =>
  account.models.get(model.upstream) ?? model.upstream;

function scan(body: Buffer): Map<string, Span> {
  if (body.length === 0) throw fail('invalid_request', 'The body is empty; a JSON object is expected.');
  return asJson(() => scanMembers(body, WANTED, JSON_LIMITS));
}

/** The scan skips long strings unseen; what it let pass may still not be readable. */
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

/** Image requests may leave the model out (G 2): the first image model of the group is meant. */
function defaultModel(operation: TextOperation, caller: Caller, catalog: Catalog): string | undefined {
  if (operation !== 'images.generate') return undefined;
  return catalog.lines(caller.group.id).find(({ pattern }) => pattern.includes('image') && !pattern.includes('*'))
    ?.pattern;
}
