/**
 * Veo of Google: `predictLongRunning` of the Gemini API and, for an account at the cloud, of Vertex AI. Tasks are
 * operations: they can be neither listed nor cancelled. The shapes are those that `@google/genai` reads and writes.
 */
import type { Account } from '../../../catalog/index.ts';
import { fail } from '../../../core/index.ts';
import type { MediaRole } from '../../../rules/index.ts';
import type { NeutralMedia, NeutralRequest } from '../../request/task-request.ts';
import { JsonPieces } from '../../request/upstream-template.ts';
import * as errors from '../error-rows.ts';
import { type JsonResponse, nonEmptyText, objectOf, type ResponseObject } from '../exchange.ts';
import type { ReportedTask } from '../reported-task.ts';
import type { FamilyRequest, VideoFamily } from './family.ts';
import { dataUrlParts, isMedia, promptOf } from './neutral.ts';

/** Names of `google.rpc.Code`, by number; reasons of `ErrorInfo`; and our own words for what only a text says. */
const ERRORS: readonly errors.VideoErrorRow[] = [
  errors.contentError(/^PROMPT_BLOCKED$/, 'input_content_rejected'),
  errors.contentError(/^MEDIA_FILTERED$/, 'output_content_rejected'),
  errors.accountError(/^(?:UNAUTHENTICATED|API_KEY_\w+)$/, { kind: 'credential' }),
  errors.accountError(/^(?:BILLING_DISABLED|CONSUMER_\w+)$/, { kind: 'quota_exhausted' }),
  errors.accountError(/^(?:PERMISSION_DENIED|SERVICE_DISABLED|ACCESS_TOKEN_\w+)$/),
  // The account lacks the model, which only the operator can change. Its other models stay in use.
  errors.accountError(/^NOT_FOUND$/, { kind: 'failed', cooldownMs: 300_000 }),
  errors.rateError(/^(?:RESOURCE_EXHAUSTED|RATE_LIMIT_EXCEEDED)$/),
  errors.requestError(/^(?:INVALID_ARGUMENT|FAILED_PRECONDITION|OUT_OF_RANGE)$/, 'unsupported_video_parameter'),
];
const RPC_CODES: Readonly<Record<number, string>> = {
  1: 'CANCELLED',
  3: 'INVALID_ARGUMENT',
  5: 'NOT_FOUND',
  7: 'PERMISSION_DENIED',
  8: 'RESOURCE_EXHAUSTED',
  9: 'FAILED_PRECONDITION',
  11: 'OUT_OF_RANGE',
  16: 'UNAUTHENTICATED',
};
/** Google blocks prompts and pictures with INVALID_ARGUMENT; only the sentence says that it is not the form. */
const BLOCKED = /usage guidelines|responsible ai|safety (?:filter|setting|polic)|sensitive words|support codes?:/i;

export const veo: VideoFamily = {
  createPath: '/v1beta/models',
  takesSafetyIdentifier: false,
  returnsExpiry: false,
  takesIdempotencyKey: false,
  takesBytesOnly: true,
  ambiguousStatuses: new Set([408, 409, 499]),
  confirmsCancellation: false,
  reportsToPrivateUrls: true,
  errors: ERRORS,
  authorize: ({ cloud, credential }) => (cloud ? [] : ['x-goog-api-key', credential]),
  encode: (request, { model }, account) => ({
    path: `/v1beta/models/${encodeURIComponent(model)}:predictLongRunning`,
    body: bodyOf(request, account),
  }),
  readCreate,
  poll,
  readTask,
  ownsResult: (url, account) => url?.origin === new URL(resultBase(account)).origin,
  hasOwnResults: true,
};

// ---------------------------------------------------------------- requests

function bodyOf({ items, parameters }: NeutralRequest, account: Account): Buffer[] {
  const writer = new JsonPieces();
  const media = items.filter(isMedia);
  writer.text('{"instances":[{"prompt":');
  writer.string(promptOf(items));
  writeImage(writer, media, 'first_frame', '"image":');
  writeImage(writer, media, 'last_frame', '"lastFrame":');
  const references = media.filter(({ role }) => role === 'reference_image');
  if (references.length > 0) writer.text(',"referenceImages":[');
  for (const [n, item] of references.entries()) {
    writer.text(n === 0 ? '{"image":' : ',{"image":');
    writeBytes(writer, item);
    writer.text(',"referenceType":"ASSET"}');
  }
  if (references.length > 0) writer.text(']');
  writer.text(`}],"parameters":${JSON.stringify(parametersOf(parameters, account))}}`);
  return writer.pieces();
}

/**
 * One video each: a second one would be another task.
 * The Gemini API has no switch for sound, and a bucket is of the cloud only.
 */
function parametersOf(given: NeutralRequest['parameters'], { cloud }: Account): object {
  const { duration, resolution, ratio, seed, generate_audio, negative_prompt, person_generation } = given;
  if (!cloud && generate_audio === false)
    throw fail('unsupported_video_parameter', 'generate_audio: the provider makes no video without sound; remove it.', {
      param: 'generate_audio',
    });
  return {
    sampleCount: 1,
    durationSeconds: duration,
    aspectRatio: ratio,
    resolution,
    seed: seed === -1 ? undefined : seed,
    negativePrompt: negative_prompt,
    personGeneration: person_generation,
    ...(cloud && { generateAudio: generate_audio, storageUri: cloud.storage }),
  };
}

function writeImage(writer: JsonPieces, media: readonly NeutralMedia[], role: MediaRole, name: string): void {
  const item = media.find((one) => one.role === role);
  if (!item) return;
  writer.text(`,${name}`);
  writeBytes(writer, item);
}

function writeBytes(writer: JsonPieces, item: NeutralMedia): void {
  const { mime, data } = dataUrlParts(item);
  writer.text(`{"mimeType":${JSON.stringify(mime)},"bytesBase64Encoded":`);
  writer.string(data);
  writer.text('}');
}

const CLOUD_MODEL = /\/models\/([\w.-]+)\/operations\//;

/** The cloud fetches operations of models by a method of the model. */
function poll(upstreamId: string, { cloud }: Account): FamilyRequest {
  const path = `/v1beta/${upstreamId.split('/').map(encodeURIComponent).join('/')}`;
  if (!cloud) return { method: 'GET', path };
  const model = CLOUD_MODEL.exec(upstreamId)?.[1] ?? 'unknown';
  const body = JSON.stringify({ operationName: upstreamId });
  return { method: 'POST', path: `/v1beta/models/${model}:fetchPredictOperation`, body };
}

// ---------------------------------------------------------------- responses

function readCreate({ status, body }: JsonResponse): errors.CreateReading {
  const error = objectOf(body?.error);
  // Some errors arrive with a success; one with a name has an operation all the same.
  const upstreamId = status < 300 ? nonEmptyText(body?.name) : undefined;
  if (upstreamId !== undefined) return { upstreamId };
  if (status < 300 && !error) return undefined;
  const read = errorOf(error ?? {}, `HTTP_${status}`);
  return { error: { ...read, status: status < 300 ? statusOf(error?.code) : status, param: undefined } };
}

/** A rejection inside a success has the status in its body. Without one nothing is certain. */
const statusOf = (code: unknown): number => (typeof code === 'number' && code >= 400 && code < 600 ? code : 500);

function errorOf(error: ResponseObject, otherwise: string): { readonly code: string; readonly message: string } {
  const message = nonEmptyText(error.message) ?? '';
  const details = Array.isArray(error.details) ? error.details : [];
  const reason = details.map((one) => nonEmptyText(objectOf(one)?.reason)).find((one) => one !== undefined);
  const name = nonEmptyText(error.status) ?? RPC_CODES[Number(error.code)] ?? otherwise;
  return { code: name === 'INVALID_ARGUMENT' && BLOCKED.test(message) ? 'PROMPT_BLOCKED' : (reason ?? name), message };
}

function readTask(value: unknown, account: Account): ReportedTask | undefined {
  const operation = objectOf(value);
  const id = nonEmptyText(operation?.name);
  if (!operation || id === undefined) return undefined;
  if (operation.done !== true) return { id, status: 'running' };
  const error = objectOf(operation.error);
  if (error) return { id, status: 'failed', error: errorOf(error, 'UNKNOWN') };
  const response = objectOf(operation.response) ?? {};
  const videoUrl = resultUrl(account, account.cloud ? cloudVideo(response) : geminiVideo(response));
  if (videoUrl !== undefined) return { id, status: 'succeeded', videoUrl };
  // Done without a video: the filters kept it, and it is not charged.
  const { raiMediaFilteredCount: count } = objectOf(response.generateVideoResponse) ?? response;
  const isFiltered = typeof count === 'number' && count > 0;
  return { id, status: 'failed', error: { code: isFiltered ? 'MEDIA_FILTERED' : 'NO_VIDEO', message: '' } };
}

const geminiVideo = ({ generateVideoResponse }: ResponseObject): unknown =>
  objectOf(firstOf(objectOf(generateVideoResponse)?.generatedSamples)?.video)?.uri;
const cloudVideo = ({ videos }: ResponseObject): unknown => firstOf(videos)?.gcsUri;
const firstOf = (list: unknown): ResponseObject | undefined => (Array.isArray(list) ? objectOf(list[0]) : undefined);

/** Where results are that the credential opens: the account's own address, or the store of its cloud. */
const resultBase = ({ cloud, baseUrl }: Account): string =>
  (cloud ? (cloud.storage_url ?? 'https://storage.googleapis.com') : baseUrl).replace(/\/+$/, '');

/** At the address of the account, whatever host the provider names: the credential goes nowhere else. */
function resultUrl(account: Account, uri: unknown): string | undefined {
  if (typeof uri !== 'string') return undefined;
  if (!account.cloud) {
    const url = URL.parse(uri);
    return url ? resultBase(account) + url.pathname + url.search : undefined;
  }
  const [, bucket, name] = /^gs:\/\/([^/]+)\/(.+)$/.exec(uri) ?? [];
  if (bucket === undefined || name === undefined) return undefined;
  return `${resultBase(account)}/storage/v1/b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(name)}?alt=media`;
}
