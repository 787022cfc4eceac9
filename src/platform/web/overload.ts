/** Requests that an overloaded server refuses: which ones, with what, and how they are reported. */
import { type ApiError, type Clock, entryOf, fail, type Log, newRequestId } from '../../core/index.ts';
import { PRIORITY_OF, type Priority, SHED_RETRY_SECONDS } from '../../rules/index.ts';
import type { IncomingRequest, OutgoingResponse } from '../http/index.ts';
import type { AnyOperation, Call, Handler } from './call.ts';
import type { CallsByCaller } from './calls-by-caller.ts';
import { idHeaders, JSON_HEADERS, type RenderError } from './send.ts';
import { retrySeconds, type Shedder } from './shedder.ts';

interface Shedding {
  readonly shedder?: Shedder | undefined;
}

interface CountedShedding extends Shedding {
  readonly callers: CallsByCaller;
}

export const isShed = (
  { shedder, callers }: CountedShedding,
  { operation, request }: Pick<Call, 'operation' | 'request'>,
  bodyBytes = 0,
): boolean =>
  shedder !== undefined &&
  operation !== 'none' &&
  shedder.refuses(priorityOf(operation), bodyBytes, () => callers.hasFew(request));

/** An operator looks at the console just when a server is overloaded. */
const priorityOf = (operation: AnyOperation): Priority =>
  /^(?:admin|console)\./.test(operation) ? 'create' : PRIORITY_OF[operation as keyof typeof PRIORITY_OF];

/** The announced length of a body, after which it may still be larger once it is decompressed. */
export const bodyBytesOf = ({ headers }: IncomingRequest): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Number.POSITIVE_INFINITY;

/** One error for each time to wait: an error collects its stack, which would be half the cost of a refusal. */
const OVERLOADED = Array.from({ length: SHED_RETRY_SECONDS.max + 1 }, (_, retryAfter) =>
  fail('server_is_overloaded', 'This server is overloaded; retry after the time in retry-after.', {
    retryAfter: Math.max(SHED_RETRY_SECONDS.min, retryAfter),
  }),
);
const overloaded = (seconds = retrySeconds()): ApiError => OVERLOADED[seconds] ?? fail('server_is_overloaded');

export const refuseOverloaded: Handler = () => {
  throw overloaded();
};

/** A rendered refusal without the id of its request. */
interface Template {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  /** The body around the ids. */
  readonly body: readonly string[];
}

/** Stands for the id of a request: all have the same length, so that they do not change that of the body. */
const ANY_ID = newRequestId(0);

export type SendRefusal = (response: OutgoingResponse, request: Pick<Call, 'errorFormat' | 'id' | 'headers'>) => void;

/** Sends refusals, of which each kind is rendered once: rendering one costs as much as reading its request. */
export function refusalSender(renderError: RenderError): SendRefusal {
  const templates = new Map<string, Template>();
  return (response, request) => {
    const { errorFormat } = request;
    const seconds = retrySeconds();
    const { status, headers, body } = entryOf(templates, `${errorFormat} ${seconds}`, () => {
      const rendered = renderError(overloaded(seconds), { errorFormat, id: ANY_ID });
      const text = JSON.stringify(rendered.body);
      const length = { 'content-length': Buffer.byteLength(text) };
      return { ...rendered, headers: { ...rendered.headers, ...JSON_HEADERS, ...length }, body: text.split(ANY_ID) };
    });
    response.writeHead(status, { ...idHeaders(request), ...headers });
    response.end(body.join(request.id));
  };
}

/** Logs the number of refused requests, at most once a second. */
export function shedReporter({ shedder, log, clock }: Shedding & { log: Log; clock: Clock }): () => void {
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
