/**
 * The one attempt of a call without an option that the provider rejected:
 * never after the client got bytes, nor for calls sent once.
 */
import type { Account } from '../../catalog/index.ts';
import type { Log } from '../../core/index.ts';
import type { HubRequest, UpstreamFailure } from '../../dialects/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { ADDED_OPTIONS, type AddedOption, isKnownEffort, type UpstreamDialect } from '../../rules/index.ts';
import { type Lessons, lessonOf, memberAt, mergeLessons, NO_LESSONS, type RejectedBody } from './lessons.ts';
import { type Refusal, readRefusal } from './refusal.ts';
import type { RejectedOptions } from './rejected-options.ts';

export interface OptionRetryOptions {
  readonly call: Call;
  readonly log: Log;
  readonly rejectedOptions: RejectedOptions;
  /** `once`: the call is never repeated. */
  readonly sends: 'again' | 'once';
}

export interface RejectedRequest extends RejectedBody {
  readonly dialect: UpstreamDialect;
  readonly account: Account;
  readonly model: string;
  /** Undefined on the native path, where every option is the gateway's. */
  readonly request?: HubRequest;
  isChangedBy(lessons: Lessons): boolean;
}

export class OptionRetry {
  readonly #options: OptionRetryOptions;
  /** Of this call. They hold for every account that it tries. */
  #learned = NO_LESSONS;
  /** Those that are remembered once they have helped. */
  #lasting = NO_LESSONS;

  constructor(options: OptionRetryOptions) {
    this.#options = options;
  }

  lessonsFor(account: Account, model: string): Lessons {
    return mergeLessons(this.#options.rejectedOptions.lessonsFor(account, model), this.#learned);
  }

  /** Returns true when the request is to be sent again, encoded for the lessons that `lessonsFor` now returns. */
  onRejected(failure: UpstreamFailure, rejected: RejectedRequest): boolean {
    const { call, log, rejectedOptions, sends } = this.#options;
    if (sends === 'once' || call.response.headersSent) return false;
    const refusal = readRefusal(failure);
    const found = refusal && this.#find(refusal, rejected);
    if (!found) return false;
    const { row, lessons } = found;
    const { account, model } = rejected;
    const isFirst = this.#learned === NO_LESSONS;
    this.#learned = mergeLessons(this.#learned, lessons);
    if (!row.isForThisCall) this.#lasting = mergeLessons(this.#lasting, lessons);
    // The provider now rejects another option: the next call leaves out both.
    if (!isFirst) this.onAccepted(account, model);
    else {
      rejectedOptions.count(row);
      call.addLogFields({ removed: row.option });
    }
    const { dialect, option } = row;
    const about = { request: call.id, account: account.id, model, dialect, option };
    log.warn('option.rejected', { ...about, status: failure.status, sent_again: isFirst });
    return isFirst;
  }

  onAccepted(account: Account, model: string): void {
    if (this.#lasting !== NO_LESSONS) this.#options.rejectedOptions.add(account, model, this.#lasting);
  }

  /**
   * The first row that the error means and whose lesson changes the request. An option of the caller ends the search.
   */
  #find(refusal: Refusal, rejected: RejectedRequest): { row: AddedOption; lessons: Lessons } | undefined {
    for (const row of ADDED_OPTIONS[rejected.dialect]) {
      if (!isSent(row, rejected) || !isMeant(row, refusal)) continue;
      if (isCallers(row, rejected)) return undefined;
      const lessons = lessonOf(row, refusal.message, rejected);
      if (lessons && rejected.isChangedBy(lessons)) return { row, lessons };
    }
    return undefined;
  }
}

function isSent({ path, value }: AddedOption, { body }: RejectedRequest): boolean {
  const sent = memberAt(body, path);
  if (value === undefined) return sent !== undefined;
  return Array.isArray(sent) ? sent.includes(value) : sent === value;
}

function isMeant({ param, message }: AddedOption, refusal: Refusal): boolean {
  if (message.test(refusal.message)) return true;
  return param !== undefined && refusal.fields.some((field) => isWithin(camel(field), camel(param)));
}

const isWithin = (field: string, param: string): boolean =>
  field.startsWith(param) && /^(?:$|[.[])/.test(field.slice(param.length));

/** Google's errors spell names in either way. */
const camel = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

function isCallers({ path, unlessCallers }: AddedOption, { body, request }: RejectedRequest): boolean {
  const effort = request?.reasoning.effort;
  // A word that no table knows says nothing about the model.
  if (effort !== undefined && !isKnownEffort(effort) && memberAt(body, path) === effort) return true;
  if (!request || unlessCallers === undefined) return false;
  if (unlessCallers === 'cacheKey') return request.cache.key !== undefined;
  if (unlessCallers === 'maxOutput') return request.limits.maxOutput === memberAt(body, path);
  const sent = memberAt(body, 'reasoning.effort') ?? body.reasoning_effort;
  return effort !== undefined && effort === sent;
}
