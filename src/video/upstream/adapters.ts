/** Differences between the upstreams of video accounts, as data: the provider's own API, and the public API of another Dragoman. */
import type { Account } from '../../catalog/index.ts';
import type { VideoAdapter } from '../../rules/index.ts';
import { nonEmptyText, objectOf } from './exchange.ts';

export interface AdapterTraits {
  /** Path of the task API below `base_url`. */
  readonly tasksPath: string;
  /** The upstream takes our anonymous name of the end user, and returns it with its tasks. Another Dragoman rejects unknown fields. */
  readonly takesSafetyIdentifier: boolean;
  /** Our task id is sent as the Idempotency-Key, so that a proxy that repeats a request creates no second task. */
  readonly takesIdempotencyKey: boolean;
  /** Client errors after which the upstream may or may not have created the task, by status or code. */
  readonly ambiguousStatuses: ReadonlySet<number>;
  readonly ambiguousCodes: RegExp | undefined;
  /** Codes of server errors after which the upstream has certainly created nothing. */
  readonly definitiveCodes: RegExp | undefined;
  /** A success of a cancellation means that the task is cancelled, and not only that it will be. */
  readonly confirmsCancellation: boolean;
  /** An upstream on this machine reports to any address; otherwise only a public HTTPS address is accepted. */
  readonly reportsToPrivateUrls: boolean;
  /** Results are behind the account's credential, at paths of its own address. */
  readonly hasOwnResults: boolean;
}

export const ADAPTERS: Readonly<Record<VideoAdapter, AdapterTraits>> = {
  ark: {
    tasksPath: '/contents/generations/tasks',
    takesSafetyIdentifier: true,
    takesIdempotencyKey: false,
    ambiguousStatuses: new Set([408, 409, 425]),
    ambiguousCodes: undefined,
    definitiveCodes: undefined,
    confirmsCancellation: true,
    reportsToPrivateUrls: true,
    hasOwnResults: false,
  },
  dragoman: {
    tasksPath: '/api/v3/contents/generations/tasks',
    takesSafetyIdentifier: false,
    takesIdempotencyKey: true,
    ambiguousStatuses: new Set([408, 425]),
    // A request with our key arrived before: it may have created the task.
    ambiguousCodes: /^idempotency_/,
    definitiveCodes: /^(?:server_is_overloaded|no_upstream_account)$/,
    confirmsCancellation: false,
    reportsToPrivateUrls: false,
    hasOwnResults: true,
  },
};

export const traitsOf = ({ adapter }: Pick<Account, 'adapter'>): AdapterTraits => ADAPTERS[adapter];

/** Whether the upstream may have created the task, although it responded with this error. */
export function isAmbiguous(traits: AdapterTraits, status: number, code: string): boolean {
  if (status >= 500) return traits.definitiveCodes?.test(code) !== true;
  return status < 400 || traits.ambiguousStatuses.has(status) || traits.ambiguousCodes?.test(code) === true;
}

/** The task id in a report on our secret path. A Dragoman has it in the `data` of its callback (V 6 r3). */
export function reportedIdIn(report: unknown): string | undefined {
  const body = objectOf(report);
  return nonEmptyText(body?.id) ?? nonEmptyText(objectOf(body?.data)?.id);
}

/** Addresses of the results of a task at another Dragoman. Built here: its own links have its public address, which may be another. */
export const ownResultUrls = ({ baseUrl }: Pick<Account, 'baseUrl'>, upstreamId: string) => {
  const video = `${baseUrl}/v1/videos/${encodeURIComponent(upstreamId)}`;
  return { video: `${video}/content`, lastFrame: `${video}/last-frame` };
};
