/** The batch APIs of OpenAI and of Anthropic: what is sent to them, and what their replies mean. */
import { randomUUID } from 'node:crypto';
import type { Account } from '../../../catalog/index.ts';
import { valueOfJson } from '../../../core/index.ts';
import { wholeResponse } from '../../../platform/http/index.ts';
import type { UpstreamClient, UpstreamRequest } from '../../../providers/upstream/index.ts';
import * as rules from '../../../rules/index.ts';
import { type SentRequest, upstreamRequest } from '../../upstream-request.ts';

type Json = Readonly<Record<string, unknown>>;

export interface BatchTarget {
  readonly upstream: UpstreamClient;
  readonly account: Account;
  readonly operation: string;
  /** The header `anthropic-beta` of the requests. */
  readonly beta?: string | null | undefined;
}

/** A request, under the id by which its result is found. */
export interface NamedRequest {
  readonly customId: string;
  readonly body: Buffer;
}

export interface BatchThere {
  readonly id: string;
  readonly state: 'running' | 'failed' | 'canceled' | 'expired' | 'completed';
  /** Paths of its results. */
  readonly results: readonly string[];
  readonly inputFile: unknown;
  readonly createdAt: number;
  readonly requests: number;
}

const MAX_BYTES = 8 * 2 ** 20;
/** Of many requests at once: shorter than the lease of the process that sends them. */
const SENDING = { connect: 5_000, firstByte: 240_000, idle: 30_000, total: 240_000 } as const;
/** After other ones, a batch may have been made. */
const isRefusal = (status: number): boolean =>
  status === 503 || status === 529 || (status >= 400 && status < 500 && status !== 408 && status !== 409);
/** So many are compared when one is sought that a process made before it ended. */
const LISTED = 100;

const isMessages = ({ operation }: BatchTarget): boolean => operation === 'messages.create';
const listPath = (target: BatchTarget): string => (isMessages(target) ? '/v1/messages/batches' : '/v1/batches');
const pathOf = (target: BatchTarget, id: string): string => `${listPath(target)}/${encodeURIComponent(id)}`;
const filePath = (id: unknown): string => `/v1/files/${encodeURIComponent(String(id))}`;
const endpointOf = ({ operation }: BatchTarget) => rules.inferenceRow(operation as 'chat.create').path;

type Sent = Partial<Pick<SentRequest, 'body' | 'timeouts'>> & { readonly type?: string };

export function batchRequest(
  target: BatchTarget,
  method: SentRequest['method'],
  path: string,
  { body = null, timeouts = rules.TIMEOUTS.count, type }: Sent = {},
): UpstreamRequest {
  const { account, beta } = target;
  const headers = ['accept-encoding', 'identity', 'user-agent', 'dragoman', ...(type ? ['content-type', type] : [])];
  if (isMessages(target)) headers.push(rules.MESSAGES_VERSION_HEADER, rules.DEFAULT_MESSAGES_VERSION);
  if (beta) headers.push('anthropic-beta', beta);
  const style = isMessages(target) ? 'messages' : 'responses';
  return upstreamRequest(style, account, { method, path, headers, body, timeouts, sends: 'once' });
}

/** Status 0: no response came. `isUnsent`: no connection was made either. */
async function send(
  target: BatchTarget,
  ...request: Parameters<typeof batchRequest> extends [unknown, ...infer R] ? R : never
) {
  const response = await wholeResponse(target.upstream, batchRequest(target, ...request), MAX_BYTES);
  if ('code' in response) return { status: 0, isUnsent: response.kind === 'unreachable', body: {} };
  const body = (valueOfJson(response.body.toString('utf8')) ?? {}) as Json;
  return { status: response.status, isUnsent: false, body };
}

/**
 * The file of the requests, before anything can be made of it.
 * Anthropic has none, and only shows that it is there. Undefined when it fails.
 */
export async function uploadRequests(target: BatchTarget, requests: readonly NamedRequest[]) {
  if (isMessages(target)) return (await listBatches(target)) && '';
  const boundary = `requests-${randomUUID()}`;
  const part = (name: string, value = ''): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}\r\n\r\n${value}`;
  const head =
    part('purpose"', 'batch\r\n') +
    part('expires_after[anchor]"', 'created_at\r\n') +
    part('expires_after[seconds]"', `${rules.PROVIDER_BATCHES.fileSeconds}\r\n`) +
    part('file"; filename="requests.jsonl"\r\ncontent-type: application/jsonl');
  const lines = framed(requests, {
    before: ({ customId }) => `{"custom_id":"${customId}","method":"POST","url":"${endpointOf(target)}","body":`,
    after: '}\n',
  });
  const form = Buffer.concat([Buffer.from(head), ...lines, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  const type = `multipart/form-data; boundary=${boundary}`;
  const { status, body } = await send(target, 'POST', '/v1/files', { body: form, type, timeouts: SENDING });
  return status === 200 && typeof body.id === 'string' ? body.id : undefined;
}

/**
 * Returns its id. `refused`: nothing was made; `unknown`: it may have been, so that it is sought, and not made again.
 */
export async function createThere(target: BatchTarget, inputFile: string, requests: readonly NamedRequest[]) {
  const before: Framing['before'] = ({ customId }, n) => `${n > 0 ? ',' : ''}{"custom_id":"${customId}","params":`;
  const sent = isMessages(target)
    ? Buffer.concat([Buffer.from('{"requests":['), ...framed(requests, { before, after: '}' }), Buffer.from(']}')])
    : JSON.stringify({ input_file_id: inputFile, endpoint: endpointOf(target), completion_window: '24h' });
  const asked = { body: sent, type: 'application/json', timeouts: SENDING };
  const { status, isUnsent, body } = await send(target, 'POST', listPath(target), asked);
  if (status === 200 && typeof body.id === 'string') return { id: body.id };
  return isUnsent || isRefusal(status) ? 'refused' : 'unknown';
}

/** Undefined when the provider does not say; `missing` when it has none of this id. */
export async function readThere(target: BatchTarget, id: string): Promise<BatchThere | 'missing' | undefined> {
  const { status, body } = await send(target, 'GET', pathOf(target, id));
  if (status === 404) return 'missing';
  return status === 200 ? batchIn(body) : undefined;
}

/** The newest ones; undefined when the provider does not say. */
export async function listBatches(target: BatchTarget): Promise<readonly BatchThere[] | undefined> {
  const { status, body } = await send(target, 'GET', `${listPath(target)}?limit=${LISTED}`);
  return status === 200 && Array.isArray(body.data)
    ? body.data.map((one: Json | null) => batchIn(one ?? {}))
    : undefined;
}

export async function cancelThere(target: BatchTarget, id: string): Promise<boolean> {
  const { status } = await send(target, 'POST', `${pathOf(target, id)}/cancel`);
  return status >= 200 && status < 500;
}

/** Once nothing of it is needed. What remains expires. */
export async function deleteThere(target: BatchTarget, id: string | null, inputFile: string | null): Promise<void> {
  const found = id !== null && !isMessages(target) ? await readThere(target, id) : undefined;
  const results = typeof found === 'object' ? found.results.map((path) => path.replace(/\/content$/, '')) : [];
  const batch = id !== null && isMessages(target) ? [pathOf(target, id)] : [];
  for (const path of [...batch, ...results, ...(inputFile ? [filePath(inputFile)] : [])])
    await send(target, 'DELETE', path);
}

const STATES: Readonly<Record<string, BatchThere['state']>> = {
  failed: 'failed',
  completed: 'completed',
  expired: 'expired',
  cancelled: 'canceled',
  // Each of the results says what became of its request.
  ended: 'completed',
};

function batchIn(body: Json): BatchThere {
  const { status, processing_status: processing, created_at: at } = body;
  const id = String(body.id);
  const { total, ...counts } = (body.request_counts ?? {}) as Readonly<Record<string, number>>;
  const files = [body.output_file_id, body.error_file_id].filter((file) => typeof file === 'string');
  return {
    id,
    state: STATES[String(processing ?? status)] ?? 'running',
    results: processing
      ? [`/v1/messages/batches/${encodeURIComponent(id)}/results`]
      : files.map((file) => `${filePath(file)}/content`),
    inputFile: body.input_file_id,
    createdAt: typeof at === 'number' ? at * 1_000 : Date.parse(String(at)),
    requests: total ?? Object.values(counts).reduce((sum, count) => sum + count, 0),
  };
}

interface Framing {
  readonly before: (request: NamedRequest, n: number) => string;
  readonly after: string;
}

const framed = (requests: readonly NamedRequest[], { before, after }: Framing): Buffer[] =>
  requests.flatMap((request, n) => [Buffer.from(before(request, n)), request.body, Buffer.from(after)]);
