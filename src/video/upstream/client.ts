/**
 * Client of the video providers' task APIs. Reports every outcome as a value, because the difference between "not
 * sent", "rejected" and "unknown" decides about money. Never sends a create request twice.
 */
import type { Account } from '../../catalog/index.ts';
import { concatBuffers } from '../../core/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import { END_USER_HEADER, LABEL_HEADER, TIMEOUTS } from '../../rules/index.ts';
import { isAmbiguous, traitsOf } from './adapters.ts';
import type { ProviderError } from './error-rows.ts';
import { exchangeAs, type JsonAnswer, type JsonResponse, secondsIn } from './exchange.ts';
import type { CreateMessage, FamilyRequest, VideoFamily } from './families/family.ts';
import type { ReportedTask } from './reported-task.ts';

export { reportedTask } from './families/ark.ts';
export { type ReportedTask, type ReportedUsage, reportedMembers } from './reported-task.ts';

export type CreateOutcome =
  | { readonly kind: 'accepted'; readonly upstreamId: string }
  | { readonly kind: 'rejected'; readonly error: ProviderError; readonly retryAfter: number | undefined }
  /** No byte of the request left this process. */
  | { readonly kind: 'not_sent'; readonly reason: string }
  /** The provider may have created the task. */
  | { readonly kind: 'unknown'; readonly reason: string };

export type QueryOutcome<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'missing' }
  /** The provider could not be asked, or its response is unreadable. */
  | { readonly kind: 'failed'; readonly status: number | undefined; readonly retryAfter?: number | undefined };

export type CancelOutcome = 'cancelled' | 'rejected' | 'failed';

export interface ListedTasks {
  readonly tasks: readonly ReportedTask[];
  /** No older tasks exist. */
  readonly isLast: boolean;
}

/** A create request. Never sent twice. */
export interface CreateRequest extends CreateMessage {
  readonly taskId: string;
  /** Our anonymous name of the user, for another Dragoman. */
  readonly endUser: string;
}

export class VideoProvider {
  readonly #upstream: UpstreamClient;

  constructor(upstream: UpstreamClient) {
    this.#upstream = upstream;
  }

  async create(account: Account, { taskId, endUser, body, path }: CreateRequest): Promise<CreateOutcome> {
    const family = traitsOf(account);
    const names = ['idempotency-key', taskId, LABEL_HEADER, taskId, END_USER_HEADER, endUser];
    const response = await exchangeAs(this.#upstream, account, {
      method: 'POST',
      path: path ?? family.createPath,
      credential: family.authorize(account),
      content: { body: concatBuffers(body), headers: family.takesIdempotencyKey ? names : [] },
      timeouts: TIMEOUTS.videoCreate,
      connection: 'new',
    });
    if ('kind' in response)
      return response.kind === 'unreachable'
        ? { kind: 'not_sent', reason: response.code }
        : { kind: 'unknown', reason: response.code };
    const read = family.readCreate(response);
    if (!read) return { kind: 'unknown', reason: 'NO_ID' };
    if ('upstreamId' in read) return { kind: 'accepted', upstreamId: read.upstreamId };
    const { error } = read;
    if (isAmbiguous(family, error.status, error.code)) return { kind: 'unknown', reason: `HTTP_${error.status}` };
    return { kind: 'rejected', error, retryAfter: secondsIn(response.headers['retry-after']) };
  }

  async get(account: Account, upstreamId: string): Promise<QueryOutcome<ReportedTask>> {
    const family = traitsOf(account);
    const response = await this.#ask(account, family.poll(upstreamId, account));
    if ('kind' in response) return { kind: 'failed', status: undefined };
    if (response.status === 404) return { kind: 'missing' };
    const task = response.status === 200 ? family.readTask(response.body, account, upstreamId) : undefined;
    if (task === 'missing') return { kind: 'missing' };
    // A report about another task says nothing about this one.
    if (task?.id === upstreamId) return this.#withResult(account, task);
    return failedAs(family, response);
  }

  /** A success is reported with the address of its video, or not yet. */
  async #withResult(account: Account, task: ReportedTask): Promise<QueryOutcome<ReportedTask>> {
    const family = traitsOf(account);
    const { file } = family;
    if (!file || task.status !== 'succeeded' || task.fileId === undefined) return { kind: 'found', value: task };
    const response = await this.#ask(account, file.request(task.fileId));
    const videoUrl = 'kind' in response || response.status !== 200 ? undefined : file.address(response.body);
    if (videoUrl !== undefined) return { kind: 'found', value: { ...task, videoUrl } };
    return 'kind' in response ? { kind: 'failed', status: undefined } : failedAs(family, response);
  }

  /** One page of the tasks of the account with this model, newest first. `missing` where nothing can be listed. */
  async list(account: Account, upstreamModel: string, page: number): Promise<QueryOutcome<ListedTasks>> {
    const family = traitsOf(account);
    const { listing } = family;
    if (!listing) return { kind: 'missing' };
    const response = await this.#ask(account, listing.request(upstreamModel, page));
    if ('kind' in response) return { kind: 'failed', status: undefined };
    const items = response.status === 200 ? listing.items(response.body) : undefined;
    if (!items) return { kind: 'failed', status: response.status };
    const tasks = items.flatMap((item) => {
      const task = family.readTask(item, account);
      return typeof task === 'object' ? [task] : [];
    });
    return { kind: 'found', value: { tasks, isLast: items.length < listing.pageSize } };
  }

  /** `rejected`: the provider answered that the task cannot be cancelled in its state, or it cancels none. */
  async cancel(account: Account, upstreamId: string): Promise<CancelOutcome> {
    const family = traitsOf(account);
    if (!family.cancel) return 'rejected';
    const response = await this.#ask(account, family.cancel(upstreamId));
    if ('kind' in response) return 'failed';
    if (response.status < 300)
      return family.confirmsCancellation ? 'cancelled' : this.#confirmCancellation(account, upstreamId);
    return response.status >= 400 && response.status < 500 && response.status !== 429 ? 'rejected' : 'failed';
  }

  /** A deleted record counts as cancelled, as the provider's DELETE does for a task that has just ended. */
  async #confirmCancellation(account: Account, upstreamId: string): Promise<CancelOutcome> {
    const found = await this.get(account, upstreamId);
    if (found.kind === 'found') return found.value.status === 'cancelled' ? 'cancelled' : 'failed';
    return found.kind === 'missing' ? 'cancelled' : 'failed';
  }

  /** Anything but a create: it may be sent again. */
  #ask(account: Account, { method, path, body }: FamilyRequest): Promise<JsonAnswer> {
    return exchangeAs(this.#upstream, account, {
      method,
      path,
      credential: traitsOf(account).authorize(account),
      content: body === undefined ? undefined : { body, headers: [] },
      timeouts: TIMEOUTS.videoQuery,
      connection: 'any',
    });
  }
}

/** With the status that the family finds: some put errors inside of successes. */
function failedAs(family: VideoFamily, response: JsonResponse): Extract<QueryOutcome<never>, { kind: 'failed' }> {
  const read = family.readCreate(response);
  const status = read && 'error' in read ? read.error.status : response.status;
  return { kind: 'failed', status, retryAfter: secondsIn(response.headers['retry-after']) };
}
