/**
 * Image requests in JSON: scanned, in a thread where they are large,
 * and sent with the bytes as they came, but for the model and `response_format`.
 */
import { type Span, type StepBudget, splice, valueAt } from '../../../core/index.ts';
import type { StreamedBody } from '../../../platform/http/index.ts';
import type { ThreadJob } from '../../../platform/threads/index.ts';
import { IMAGE_FILES, type InferenceOperation, REMOVED_IMAGE_FIELD } from '../../../rules/index.ts';
import { IMAGE_TEXTS, type ImageValues, imageValues, invalid } from '../../images/fields.ts';
import { asJson, findingsFor, MODEL_MEMBER, scanRequest } from '../../request-scan.ts';
import { withModel } from '../request.ts';
import { bodyAfter } from '../scan.ts';
import { memberCut } from '../strip-opaque.ts';

const WANTED: ReadonlySet<string> = new Set([...IMAGE_TEXTS, 'images', 'mask']);

interface ImageScan extends Omit<ImageBody, 'bodyFor'> {
  /** The body without what the provider must not get; undefined when it has nothing of that. */
  readonly cut: Uint8Array<ArrayBuffer> | undefined;
  readonly modelSpan: Span | undefined;
}

export const imageJob: ThreadJob<{ readonly bytes: Buffer; readonly operation: InferenceOperation }, ImageScan> = {
  module: import.meta.url,
  name: 'imageJob',
  run: ({ bytes, operation }, steps) => scanImage(bytes, operation, steps),
  memoryOf: ({ cut }) => (cut ? [cut.buffer] : []),
};

export function imageJson(sent: Buffer, { cut, modelSpan, ...scan }: ImageScan): ImageBody {
  const body = bodyAfter(sent, { cut });
  return { ...scan, bodyFor: (name) => withModel(body, modelSpan, scan.model, name) };
}

function scanImage(sent: Buffer, operation: InferenceOperation, steps: StepBudget): ImageScan {
  const findings = findingsFor(operation, 'responses', steps);
  const members = scanRequest(sent, WANTED, { operation, findings, steps });
  const read = (name: string): unknown => asJson(() => valueAt(sent, members.get(name)));
  const sources = operation === 'images.edit' ? readSources(read('images'), read('mask')) : [];
  const [other] = findings.tagged;
  if (other) throw invalid(other.path, 'a second model has no price here; leave it out.');
  const model = read('model') ?? undefined;
  if (model !== undefined && typeof model !== 'string') throw invalid('model', 'expected a string.');
  const removed = members.get(REMOVED_IMAGE_FIELD);
  const body = removed ? withoutMember(sent, removed, REMOVED_IMAGE_FIELD) : sent;
  return {
    cut: removed && new Uint8Array(body),
    modelSpan: removed ? scanRequest(body, MODEL_MEMBER, { steps }).get('model') : members.get('model'),
    model,
    values: imageValues(read),
    files: sources.length,
    objectsIn: sources.find(({ isObject }) => isObject)?.field,
    unknown: findings.unknown,
    dropped: removed ? [REMOVED_IMAGE_FIELD] : [],
  };
}

function withoutMember(body: Buffer, value: Span, name: string): Buffer {
  const cut = memberCut(body, value, name);
  if (!cut) throw invalid(name, 'write the name of the field without escapes, or leave it out.');
  return splice(body, cut, Buffer.alloc(0));
}

/**
 * An image or mask of an edit in JSON: by its address,
 * which may be a data URL, or by the id of a file of the provider account.
 */
interface Source {
  readonly field: 'images' | 'mask';
  readonly isObject: boolean;
}

function readSources(images: unknown, mask: unknown): Source[] {
  if (!Array.isArray(images) || images.length === 0 || images.length > IMAGE_FILES.maxImages)
    throw invalid('images', `expected a list of 1 to ${IMAGE_FILES.maxImages} images.`);
  const read = images.map((image, n) => readSource('images', image, `images[${n}]`));
  return mask === undefined || mask === null ? read : [...read, readSource('mask', mask, 'mask')];
}

function readSource(field: Source['field'], value: unknown, at: string): Source {
  const { image_url: url, file_id: id } = (value ?? {}) as { image_url?: unknown; file_id?: unknown };
  const [first, ...others] = [url, id].filter((source) => source !== undefined && source !== null);
  if (typeof first !== 'string' || first === '' || others.length > 0)
    throw invalid(at, 'expected an object with either image_url or file_id.');
  return { field, isObject: typeof id === 'string' };
}

export interface ImageBody {
  readonly model: string | undefined;
  readonly values: ImageValues;
  readonly files: number;
  readonly objectsIn?: string | undefined;
  readonly unknown: string | undefined;
  readonly dropped: readonly string[];
  bodyFor(model: string): Buffer | StreamedBody;
}
