/**
 * What differs between the task APIs of providers. Sending, and what a lost answer means for money, is the same for all
 * of them and is decided in `client.ts`; a family only writes requests and reads responses, in our words.
 */
import type { Account } from '../../../catalog/index.ts';
import type { NeutralRequest } from '../../request/task-request.ts';
import type { TemplateValues } from '../../request/upstream-template.ts';
import type { CreateReading, VideoErrorRow } from '../error-rows.ts';
import type { JsonResponse, ResponseObject } from '../exchange.ts';
import type { ReportedTask } from '../reported-task.ts';

/** A request below the address of the account. */
export interface FamilyRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: string;
}

export interface CreateMessage {
  /** That of `createPath` by default. */
  readonly path?: string;
  readonly body: readonly Buffer[];
}

/** A list of the newest tasks, by which submissions are found whose answer was lost. */
export interface TaskListing {
  readonly pageSize: number;
  /** Pages count from 1. */
  request(upstreamModel: string, page: number): FamilyRequest;
  items(body: ResponseObject | undefined): readonly unknown[] | undefined;
}

/** One more request on the way to a result. */
export interface FileStep {
  request(fileId: string): FamilyRequest;
  /** Undefined when there is none now. */
  address(body: ResponseObject | undefined): string | undefined;
}

export interface VideoFamily {
  /** Path of the task API below `base_url`. */
  readonly createPath: string;
  /** The upstream takes our anonymous name of the end user, and returns it with its tasks. */
  readonly takesSafetyIdentifier: boolean;
  /** The upstream takes a time of expiry for every model, and returns it with its tasks. */
  readonly returnsExpiry: boolean;
  /**
   * Our task id is sent as the Idempotency-Key, so that a proxy that repeats a request creates no second task,
   * and as the label; so is the user.
   */
  readonly takesIdempotencyKey: boolean;
  /** Media is sent as bytes: the upstream fetches no addresses. */
  readonly takesBytesOnly: boolean;
  /** Client errors after which the upstream may or may not have created the task, by status or code. */
  readonly ambiguousStatuses: ReadonlySet<number>;
  readonly ambiguousCodes?: RegExp;
  /** Codes of server errors after which the upstream has certainly created nothing. */
  readonly definitiveCodes?: RegExp;
  /** A success of a cancellation means that the task is cancelled, and not only that it will be. */
  readonly confirmsCancellation: boolean;
  /** An upstream on this machine reports to any address; otherwise only a public HTTPS address is accepted. */
  readonly reportsToPrivateUrls: boolean;
  /** What its codes mean. Families have no code in common. */
  readonly errors: readonly VideoErrorRow[];
  /** Headers with the credential. An account at a cloud has none: its client signs in. */
  authorize(account: Account): readonly string[];
  /** Can be called again for another account. */
  encode(request: NeutralRequest, values: TemplateValues, account: Account): CreateMessage;
  readCreate(response: JsonResponse): CreateReading;
  poll(upstreamId: string, account: Account): FamilyRequest;
  /** Undefined when the body is no task, or says nothing of this one. */
  readTask(body: unknown, account: Account, upstreamId?: string): ReportedTask | 'missing' | undefined;
  /** Undefined where a task cannot be cancelled. */
  readonly cancel?: ((upstreamId: string) => FamilyRequest) | undefined;
  /** Undefined where nothing can be listed: an answer that was lost stays lost. */
  readonly listing?: TaskListing | undefined;
  /** Whether the credential opens the address. It is sent to no other one, and not where that one redirects to. */
  ownsResult(url: URL | null, account: Account): boolean;
  /** Results are at such addresses only, so that any other one of a task is out of date. */
  readonly hasOwnResults: boolean;
  /** Where a result is a file: how its address is asked for. */
  readonly file?: FileStep;
}
