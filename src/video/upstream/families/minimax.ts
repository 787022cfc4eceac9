/**
 * Hailuo of MiniMax: `/v1/video_generation`. Errors are numbers inside of successes,
 * and the result of a task is a file whose address has to be asked for. Tasks can be neither listed nor cancelled.
 */
import type { NeutralRequest } from '../../request/task-request.ts';
import { JsonPieces } from '../../request/upstream-template.ts';
import * as errors from '../error-rows.ts';
import { createReading, type JsonResponse, nonEmptyText, objectOf, type ResponseObject } from '../exchange.ts';
import { countOf, type ReportedTask } from '../reported-task.ts';
import { ark } from './ark.ts';
import type { VideoFamily } from './family.ts';
import { isMedia, mediaText, promptOf } from './neutral.ts';

/** Numbers of `base_resp`, with a word before them: other families have numbers too. */
const ERRORS: readonly errors.VideoErrorRow[] = [
  errors.contentError(/^minimax_1026$/, 'input_content_rejected'),
  errors.contentError(/^minimax_1027$/, 'output_content_rejected'),
  errors.accountError(/^minimax_(?:1004|2049)$/, { kind: 'credential' }),
  errors.accountError(/^minimax_1008$/, { kind: 'quota_exhausted' }),
  errors.rateError(/^minimax_(?:1002|1039)$/),
  errors.requestError(/^minimax_2013$/, 'unsupported_video_parameter'),
];
/** The status that a number would have. Any other one leaves open what happened. */
const STATUSES: Readonly<Record<number, number>> = {
  1002: 429,
  1004: 401,
  1008: 402,
  1026: 400,
  1027: 400,
  1039: 429,
  2013: 400,
  2049: 401,
};

/** Its words for the state of a task. */
const STATES: Readonly<Record<string, string>> = {
  Preparing: 'queued',
  Queueing: 'queued',
  Processing: 'running',
  Success: 'succeeded',
  Fail: 'failed',
};

export const minimax: VideoFamily = {
  ...ark,
  createPath: '/v1/video_generation',
  takesSafetyIdentifier: false,
  returnsExpiry: false,
  errors: ERRORS,
  encode: (request, { model }) => ({ body: bodyOf(request, model) }),
  readCreate,
  poll: (id) => ({ method: 'GET', path: `/v1/query/video_generation?task_id=${encodeURIComponent(id)}` }),
  readTask,
  cancel: undefined,
  listing: undefined,
  file: {
    request: (id) => ({ method: 'GET', path: `/v1/files/retrieve?file_id=${encodeURIComponent(id)}` }),
    address: (body) => nonEmptyText(objectOf(body?.file)?.download_url),
  },
};

function bodyOf({ items, parameters }: NeutralRequest, model: string): Buffer[] {
  const { duration, resolution, watermark, prompt_optimizer } = parameters;
  const writer = new JsonPieces();
  const members = {
    model,
    duration,
    resolution: resolution?.toUpperCase(),
    aigc_watermark: watermark,
    prompt_optimizer,
  };
  writer.text(`${JSON.stringify(members).slice(0, -1)},"prompt":`);
  writer.string(promptOf(items));
  for (const item of items.filter(isMedia)) {
    writer.text(`,"${item.role}_image":`);
    writer.string(mediaText(item));
  }
  writer.text('}');
  return writer.pieces();
}

/** Undefined for a success. */
function errorIn(body: ResponseObject | undefined): errors.ProviderError | undefined {
  const { status_code: code, status_msg } = objectOf(body?.base_resp) ?? {};
  if (typeof code !== 'number' || code === 0) return undefined;
  const message = nonEmptyText(status_msg) ?? '';
  return { status: STATUSES[code] ?? 500, code: `minimax_${code}`, message, param: undefined };
}

function readCreate(response: JsonResponse): errors.CreateReading {
  const error = errorIn(response.body);
  return error ? { error } : createReading(response, response.body?.task_id);
}

function readTask(value: unknown): ReportedTask | undefined {
  const task = objectOf(value);
  const [id, word] = [nonEmptyText(task?.task_id), nonEmptyText(task?.status)];
  if (!task || id === undefined || word === undefined) return undefined;
  const status = STATES[word] ?? word;
  const error = status === 'failed' ? errorIn(task) : undefined;
  return { id, status, error, fileId: nonEmptyText(task.file_id) ?? countOf(task.file_id)?.toString() };
}
