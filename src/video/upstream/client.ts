/**
 * Client of the video provider's task API. Reports every outcome as a value, because the difference between "not sent", "rejected" and
 * "unknown" decides about money. Never sends a create request twice.
 */
import type { Account } from '../../catalog/index.ts';
import { concatBuffers } from '../../core/index.ts';
import type { TransportError, UpstreamClient, UpstreamRequest } from '../../providers/upstream/index.ts';
import { MAX_USAGE_TOKENS, TIMEOUTS } from '../../rules/index.ts';
import { isAmbiguous, ownResultUrls, traitsOf } from './adapters.ts';
import type { ProviderError } from './errors.ts';
import { exchangeAs, type JsonResponse, nonEmptyText, objectOf, secondsIn } from './exchange.ts';

export type CreateOutcome =
  | { readonly kind: 'accepted'; readonly upstreamId: string }
  | { readonly kind: 'rejected'; readonly error: ProviderError; readonly retryAfter: number | undefined }
  /** No byte of the request left this process. */
  | { readonly kind: 'not_sent'; readonly reason: string }
  /** The provider may have created the task. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** A task as the provider reports it; undefined members were not reported or are invalid. */
export interface ReportedTask {
  readonly id: string;
  readonly model: string | undefined;
  readonly status: string;
  readonly createdAt: number | undefined;
  /** Per cent; few upstreams report it. */
  readonly progress?: number | undefined;
  readonly safetyIdentifier: string | undefined;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  readonly videoUrl: string | undefined;
  readonly lastFrameUrl: string | undefined;
  /** What is charged. */
  readonly usageTokens: number | undefined;
  /** The usage as it was reported; only what can be charged. */
  readonly usage?: ReportedUsage;
  /** The same where it cannot be believed. */
  readonly doubtedUsage?: string;
  readonly duration: number | undefined;
  readonly resolution: string | undefined;
  readonly ratio: string | undefined;
  readonly seed: number | undefined;
  readonly framespersecond: number | undefined;
  readonly frames?: number | undefined;
  readonly generate_audio?: boolean | undefined;
  readonly watermark?: boolean | undefined;
  readonly service_tier?: string | undefined;
  /** Seconds from creation to expiry. */
  readonly execution_expires_after?: number | undefined;
  /** The request had a tool that searches the web. */
  readonly searches?: boolean | undefined;
  readonly callbackUrl?: string | undefined;
}

export interface ReportedUsage {
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
}

export type QueryOutcome<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'missing' }
  /** The provider could not be asked, or its response is unreadable. */
  | { readonly kind: 'failed'; readonly status: number | undefined; readonly retryAfter?: number | undefined };

export type CancelOutcome = 'cancelled' | 'rejected' | 'failed';

/** A page of the provider's list. */
export interface ListedTasks {
  readonly tasks: readonly ReportedTask[];
  /** No older tasks exist. */
  readonly isLast: boolean;
}

const LIST_PAGE_SIZE = 100;

/** A create request. Never sent twice. */
export interface CreateRequest {
  readonly taskId: string;
  readonly body: readonly Buffer[];
}

export class VideoProvider {
  readonly #upstream: UpstreamClient;

  constructor(upstream: UpstreamClient) {
    this.#upstream = upstream;
  }

  async create(account: Account, { taskId, body }: CreateRequest): Promise<CreateOutcome> {
    const traits = traitsOf(account);
    const headers = traits.takesIdempotencyKey ? ['idempotency-key', taskId] : [];
    const response = await this.#send(account, 'POST', '', { body: concatBuffers(body), headers });
    if ('kind' in response)
      return response.kind === 'unreachable'
        ? { kind: 'not_sent', reason: response.code }
        : { kind: 'unknown', reason: response.code };
    const { status } = response;
    const upstreamId = response.body?.id;
    if (status >= 200 && status < 300)
      return typeof upstreamId === 'string' && upstreamId !== ''
        ? { kind: 'accepted', upstreamId }
        : { kind: 'unknown', reason: 'NO_ID' };
    const error = errorIn(response);
    if (isAmbiguous(traits, status, error.code)) return { kind: 'unknown', reason: `HTTP_${status}` };
    return { kind: 'rejected', error, retryAfter: secondsIn(response.headers['retry-after']) };
  }

  async get(account: Account, upstreamId: string): Promise<QueryOutcome<ReportedTask>> {
    const response = await this.#send(account, 'GET', `/${encodeURIComponent(upstreamId)}`);
    if ('kind' in response) return { kind: 'failed', status: undefined };
    if (response.status === 404) return { kind: 'missing' };
    const task = response.status === 200 ? taskOf(account, response.body) : undefined;
    // A report about another task says nothing about this one.
    if (task?.id === upstreamId) return { kind: 'found', value: task };
    return { kind: 'failed', status: response.status, retryAfter: secondsIn(response.headers['retry-after']) };
  }

  /** One page of the tasks of the account with this model, newest first. Pages count from 1. */
  async list(account: Account, upstreamModel: string, page: number): Promise<QueryOutcome<ListedTasks>> {
    const query = new URLSearchParams({
      page_num: String(page),
      page_size: String(LIST_PAGE_SIZE),
      'filter.model': upstreamModel,
    });
    const response = await this.#send(account, 'GET', `?${query}`);
    if ('kind' in response || response.status !== 200 || !Array.isArray(response.body?.items))
      return { kind: 'failed', status: 'kind' in response ? undefined : response.status };
    const { items } = response.body;
    const tasks = items.flatMap((item) => taskOf(account, item) ?? []);
    return { kind: 'found', value: { tasks, isLast: items.length < LIST_PAGE_SIZE } };
  }

  /** `rejected`: the provider answered that the task cannot be cancelled in its state. */
  async cancel(account: Account, upstreamId: string): Promise<CancelOutcome> {
    const response = await this.#send(account, 'DELETE', `/${encodeURIComponent(upstreamId)}`);
    if ('kind' in response) return 'failed';
    if (response.status < 300)
      return traitsOf(account).confirmsCancellation ? 'cancelled' : this.#confirmCancellation(account, upstreamId);
    return response.status >= 400 && response.status < 500 && response.status !== 429 ? 'rejected' : 'failed';
  }

  /** A deleted record counts as cancelled, as the provider's DELETE does for a task that has just ended. */
  async #confirmCancellation(account: Account, upstreamId: string): Promise<CancelOutcome> {
    const found = await this.get(account, upstreamId);
    if (found.kind === 'found') return found.value.status === 'cancelled' ? 'cancelled' : 'failed';
    return found.kind === 'missing' ? 'cancelled' : 'failed';
  }

  /** `path` is below the task API. */
  #send(
    account: Account,
    method: UpstreamRequest['method'],
    path: string,
    content?: { readonly body: Buffer; readonly headers: readonly string[] },
  ): Promise<JsonResponse | TransportError> {
    return exchangeAs(this.#upstream, account, {
      method,
      path: traitsOf(account).tasksPath + path,
      content,
      timeouts: method === 'POST' ? TIMEOUTS.videoCreate : TIMEOUTS.videoQuery,
      connection: method === 'POST' ? 'new' : 'any',
    });
  }
}

/** A task with the addresses at which we fetch its results. */
function taskOf(account: Account, value: unknown): ReportedTask | undefined {
  const task = reportedTask(value);
  if (!task || !traitsOf(account).hasOwnResults) return task;
  const { video, lastFrame } = ownResultUrls(account, task.id);
  return { ...task, videoUrl: task.videoUrl && video, lastFrameUrl: task.lastFrameUrl && lastFrame };
}

const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

function errorIn({ status, body }: JsonResponse): ProviderError {
  const error = objectOf(body?.error) ?? {};
  return {
    status,
    code: nonEmptyText(error.code) ?? `HTTP_${status}`,
    message: nonEmptyText(error.message) ?? '',
    param: nonEmptyText(error.param),
  };
}

/**
 * Charged is the total, or the completion when there is no total. What cannot be the usage of a video is never charged, in part or at all:
 * a number out of bounds, a total below its part, or zero for a video that was made.
 */
function usageIn({
  usage: value,
  status,
}: Readonly<Record<string, unknown>>): Pick<ReportedTask, 'usage' | 'usageTokens' | 'doubtedUsage'> {
  const { completion_tokens, total_tokens } = objectOf(value) ?? {};
  const members = Object.entries({ completion_tokens, total_tokens });
  const counts = members
    .filter(([, count]) => count !== undefined && count !== null)
    .map(([name, count]) => [name, countOf(count)] as const);
  const usage: ReportedUsage = Object.fromEntries(counts);
  const usageTokens = usage.total_tokens ?? usage.completion_tokens;
  const isDoubted =
    counts.some(([, count]) => count === undefined || count > MAX_USAGE_TOKENS) ||
    (usageTokens ?? 0) < (usage.completion_tokens ?? 0) ||
    (usageTokens === 0 && status === 'succeeded');
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
  };
}

/** Those of the members that were reported. */
export const reportedMembers = <K extends keyof ReportedTask>(task: ReportedTask, names: readonly K[]) =>
  Object.fromEntries(names.flatMap((name) => (task[name] === undefined ? [] : [[name, task[name]]])));

/** As a number or as a text with a sign. */
const percentOf = (value: unknown): number | undefined => {
  const percent = Number(typeof value === 'string' ? value.replace(/%$/, '') || Number.NaN : value);
  return (typeof value === 'number' || typeof value === 'string') && percent >= 0 && percent <= 100
    ? Math.floor(percent)
    : undefined;
};

const flagOf = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined);
