/** Requests that an overloaded server refuses: which ones, with what, and how they are reported. */
import { type ApiError, type Clock, fail, type Log } from '../core/index.ts';
import type { IncomingRequest } from '../http/index.ts';
import {
  type AdminOperation,
  adminRow,
  type ConsoleOperation,
  consoleRow,
  type Method,
  PRIORITY_OF,
  type Priority,
  SHED_RETRY_SECONDS,
} from '../rules/index.ts';
import type { AnyOperation, Call, Handler } from './call.ts';
import { retrySeconds, type Shedder } from './shedder.ts';

export const isShed = (
  { shedder }: { readonly shedder?: Shedder | undefined },
  operation: Call['operation'],
  bodyBytes = 0,
): boolean => shedder !== undefined && operation !== 'none' && shedder.refuses(priorityOf(operation), bodyBytes);

const priorityOf = (operation: AnyOperation): Priority => {
  if (operation.startsWith('admin.')) return priorityOfMethod(adminRow(operation as AdminOperation).method);
  if (operation.startsWith('console.')) return priorityOfMethod(consoleRow(operation as ConsoleOperation).method);
  return PRIORITY_OF[operation as keyof typeof PRIORITY_OF];
};

const priorityOfMethod = (method: Method): Priority => (method === 'GET' ? 'list' : 'create');

/** The announced length of a body, after which it may still be larger once it is decompressed. */
export const bodyBytesOf = ({ headers }: IncomingRequest): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Number.POSITIVE_INFINITY;

/** One error for each time to wait: an error collects its stack, which would be half the cost of a refusal. */
const OVERLOADED = Array.from({ length: SHED_RETRY_SECONDS.max + 1 }, (_, retryAfter) =>
  fail('server_is_overloaded', 'This server is overloaded; retry after the time in retry-after.', {
    retryAfter: Math.max(SHED_RETRY_SECONDS.min, retryAfter),
  }),
);
export const overloaded = (): ApiError => OVERLOADED[retrySeconds()] ?? fail('server_is_overloaded');

export const refuseOverloaded: Handler = () => {
  throw overloaded();
};

/** Logs the number of refused requests, at most once a second. */
export function shedReporter({
  shedder,
  log,
  clock,
}: {
  readonly shedder?: Shedder | undefined;
  readonly log: Log;
  readonly clock: Clock;
}): () => void {
  let isPending = false;
  let reported = 0;
  const total = (): number => [...(shedder?.refused.values() ?? [])].reduce((sum, count) => sum + count, 0);
  return () => {
    if (isPending) return;
    isPending = true;
    clock.after(SHED_REPORT_MS, () => {
      isPending = false;
      log.warn('requests.shed', { count: total() - reported });
      reported = total();
    });
  };
}

const SHED_REPORT_MS = 1_000;

export const refuseUpgrade: Handler = () => {
  const { code, message, details } = overloaded();
  throw fail(code, message, { ...details, headers: { connection: 'close' } });
};
