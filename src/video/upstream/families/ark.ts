/** The task API of the provider whose words the contract has (V 4.2): `/contents/generations/tasks`. */
import { MAX_USAGE_TOKENS } from '../../../rules/index.ts';
import { fillTemplate } from '../../request/upstream-template.ts';
import { accountError, contentError, rateError, requestError, type VideoErrorRow } from '../error-rows.ts';
import { createReading, nonEmptyText, objectOf, type ResponseObject } from '../exchange.ts';
import { countOf, type ReportedTask, type ReportedUsage } from '../reported-task.ts';
import type { VideoFamily } from './family.ts';

const TASKS_PATH = '/contents/generations/tasks';

/** The first match decides. */
const ERRORS: readonly VideoErrorRow[] = [
  contentError(
    /^(?:Input\w*SensitiveContentDetected|SensitiveContentDetected|\w*RiskDetection)/,
    'input_content_rejected',
  ),
  contentError(/^Output\w*SensitiveContentDetected/, 'output_content_rejected'),
  requestError(/^InvalidParameter(?:\.(?:UnsupportedParameter|TaskType\w+))/, 'unsupported_video_parameter'),
  accountError(/^(?:Authentication|InvalidAccount)/, { kind: 'credential' }),
  accountError(/^AccountOverdue/, { kind: 'quota_exhausted' }),
  // The account lacks the model, which only the operator can change. Its other models stay in use.
  accountError(/^(?:InvalidEndpoint|ModelNotOpen)/, { kind: 'failed', cooldownMs: 300_000 }),
  accountError(/^(?:OperationDenied|AccessDenied)/),
  requestError(/^(?:InvalidParameter|MissingParameter|InvalidImageURL)/, 'invalid_request'),
  rateError(/(?:RateLimit|QuotaExceeded|ServerOverloaded|RequestBurst|LimitExceeded|InflightBatchsize)/),
];

/** The largest that is possible, because lists are rare. */
const PAGE_SIZE = 500;

/** The requests about tasks at a path of this API. */
export const requestsAt = (path: string) =>
  ({
    createPath: path,
    poll: (id) => ({ method: 'GET', path: `${path}/${encodeURIComponent(id)}` }),
    cancel: (id) => ({ method: 'DELETE', path: `${path}/${encodeURIComponent(id)}` }),
    listing: listingAt(path),
  }) satisfies Partial<VideoFamily>;

export const ark: VideoFamily = {
  ...requestsAt(TASKS_PATH),
  takesSafetyIdentifier: true,
  returnsExpiry: true,
  takesIdempotencyKey: false,
  takesBytesOnly: false,
  ambiguousStatuses: new Set([408, 409, 425]),
  confirmsCancellation: true,
  reportsToPrivateUrls: true,
  errors: ERRORS,
  authorize: ({ credential }) => ['authorization', `Bearer ${credential}`],
  encode: (request, values) => ({ body: fillTemplate(request, values) }),
  readCreate: (response) => createReading(response, response.body?.id),
  readTask: (body) => reportedTask(body),
  ownsResult: () => false,
  hasOwnResults: false,
};

function listingAt(path: string): NonNullable<VideoFamily['listing']> {
  return {
    pageSize: PAGE_SIZE,
    request: (upstreamModel, page) => {
      const numbers = { page_num: String(page), page_size: String(PAGE_SIZE) };
      const query = new URLSearchParams({ ...numbers, 'filter.model': upstreamModel });
      return { method: 'GET', path: `${path}?${query}` };
    },
    items: (body) => (Array.isArray(body?.items) ? body.items : undefined),
  };
}

/**
 * Charged is the total, or the completion when there is no total. What cannot be the usage of a video is never charged,
 * in part or at all: a number out of bounds, a total below its part, or zero for a video that was made.
 */
function usageIn(task: ResponseObject): Pick<ReportedTask, 'usage' | 'usageTokens' | 'doubtedUsage'> {
  const { completion_tokens, total_tokens } = objectOf(task.usage) ?? {};
  const members = Object.entries({ completion_tokens, total_tokens });
  const counts = members
    .filter(([, count]) => count !== undefined && count !== null)
    .map(([name, count]) => [name, countOf(count)] as const);
  const usage: ReportedUsage = Object.fromEntries(counts);
  const usageTokens = usage.total_tokens ?? usage.completion_tokens;
  const isDoubted =
    counts.some(([, count]) => count === undefined || count > MAX_USAGE_TOKENS) ||
    (usageTokens ?? 0) < (usage.completion_tokens ?? 0) ||
    (usageTokens === 0 && task.status === 'succeeded');
  if (!isDoubted) return { usageTokens, ...(counts.length > 0 && { usage }) };
  return { usageTokens: undefined, doubtedUsage: members.map(([name, count]) => `${name} ${shown(count)}`).join(', ') };
}

const shown = (count: unknown): string => (JSON.stringify(count) ?? 'missing').slice(0, 40);

/** Reads a task leniently: only the id and the status are required. Lists name the error `failure_reason`. */
export function reportedTask(value: unknown): ReportedTask | undefined {
  const task = objectOf(value);
  const id = nonEmptyText(task?.id);
  const status = nonEmptyText(task?.status);
  if (!task || id === undefined || status === undefined) return undefined;
  const content = objectOf(task.content);
  const error = objectOf(task.error) ?? objectOf(task.failure_reason);
  return {
    id,
    status,
    model: nonEmptyText(task.model),
    createdAt: countOf(task.created_at),
    progress: percentOf(task.progress),
    safetyIdentifier: nonEmptyText(task.safety_identifier),
    error: error && { code: nonEmptyText(error.code) ?? '', message: nonEmptyText(error.message) ?? '' },
    videoUrl: nonEmptyText(content?.video_url),
    lastFrameUrl: nonEmptyText(content?.last_frame_url),
    ...usageIn(task),
    duration: countOf(task.duration),
    resolution: nonEmptyText(task.resolution),
    ratio: nonEmptyText(task.ratio),
    seed: typeof task.seed === 'number' && Number.isSafeInteger(task.seed) ? task.seed : undefined,
    framespersecond: countOf(task.framespersecond),
    frames: countOf(task.frames),
    generate_audio: flagOf(task.generate_audio),
    watermark: flagOf(task.watermark),
    service_tier: nonEmptyText(task.service_tier),
    execution_expires_after: countOf(task.execution_expires_after),
    searches: Array.isArray(task.tools) ? task.tools.length > 0 : undefined,
    callbackUrl: nonEmptyText(task.callback_url),
    label: nonEmptyText(task.label),
  };
}

/** As a number or as a text with a sign. */
const percentOf = (value: unknown): number | undefined => {
  const percent = Number(typeof value === 'string' ? value.replace(/%$/, '') || Number.NaN : value);
  return (typeof value === 'number' || typeof value === 'string') && percent >= 0 && percent <= 100
    ? Math.floor(percent)
    : undefined;
};

const flagOf = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);
