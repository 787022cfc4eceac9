/** One request to a provider and its JSON response, held in memory. Transport errors are values; nothing is retried. */
import type { Account } from '../../catalog/index.ts';
import { valueOfJson } from '../../core/index.ts';
import { wholeResponse } from '../../platform/http/index.ts';
import type { TransportError, UpstreamClient, UpstreamRequest } from '../../providers/upstream/index.ts';
import type { CreateReading, ProviderError } from './error-rows.ts';

export type ResponseObject = Readonly<Record<string, unknown>>;

export interface JsonResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Undefined when the body is not a JSON object. */
  readonly body: ResponseObject | undefined;
}

export type JsonAnswer = JsonResponse | TransportError;

const MAX_RESPONSE_BYTES = 8 * 2 ** 20;

export async function exchangeJson(upstream: UpstreamClient, request: UpstreamRequest): Promise<JsonAnswer> {
  const response = await wholeResponse(upstream, request, MAX_RESPONSE_BYTES);
  if ('code' in response) return response;
  return { ...response, body: objectOf(valueOfJson(response.body.toString('utf8'))) };
}

export interface AccountRequest extends Pick<UpstreamRequest, 'method' | 'timeouts' | 'connection'> {
  /** Below the address of the account. */
  readonly path: string;
  readonly content?: { readonly body: Buffer | string; readonly headers: readonly string[] } | undefined;
  /** Headers with the credential; a bearer token by default. */
  readonly credential?: readonly string[];
}

/** The same with the credential of the account. */
export function exchangeAs(
  upstream: UpstreamClient,
  account: Account,
  { path, content, credential, ...request }: AccountRequest,
): Promise<JsonAnswer> {
  const { origin, pathname } = new URL(account.baseUrl);
  const signed = credential ?? ['authorization', `Bearer ${account.credential}`];
  const headers = [...signed, 'accept-encoding', 'identity', 'user-agent', 'dragoman'];
  if (content) headers.push('content-type', 'application/json', ...content.headers);
  const body = content?.body ?? null;
  return exchangeJson(upstream, {
    ...request,
    origin,
    // A cloud has paths of its own below its address.
    path: account.cloud ? path : pathname.replace(/\/+$/, '') + path,
    headers,
    body,
    proxy: account.proxy,
    cloud: cloudUseOf(account),
  });
}

/** Undefined for an account that is not at a cloud. The only cloud with a video API has the paths of Google's own. */
export const cloudUseOf = (account: Account): UpstreamRequest['cloud'] =>
  account.cloud && { account, cloud: account.cloud, style: 'generate-content', model: '' };

export const objectOf = (value: unknown): ResponseObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ResponseObject) : undefined;

/**
 * An address that a person opens in a browser. It must be https;
 * http is accepted only on the host of an account that is itself reached by http, such as a simulated provider.
 * Anything else could run script, or reach into the network of the person.
 */
export function browserLink(value: unknown, accountUrl: string): string | undefined {
  const [link, own] = [URL.parse(String(value)), URL.parse(accountUrl)];
  const isOwn = link?.protocol === 'http:' && own?.protocol === 'http:' && link.hostname === own.hostname;
  return link?.protocol === 'https:' || isOwn ? link?.href : undefined;
}

export const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Seconds of a `retry-after` header; undefined for a date or nonsense. */
export const secondsIn = (value: string | undefined): number | undefined => {
  const seconds = Number(value ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
};

/** How most providers answer a create: an id with a success, or an error with `code` and `message`. */
export function createReading(response: JsonResponse, id: unknown): CreateReading {
  const { status } = response;
  if (status < 200 || status >= 300) return { error: errorIn(response) };
  const upstreamId = nonEmptyText(id);
  return upstreamId === undefined ? undefined : { upstreamId };
}

function errorIn({ status, body }: JsonResponse): ProviderError {
  const error = objectOf(body?.error) ?? {};
  return {
    status,
    code: nonEmptyText(error.code) ?? `HTTP_${status}`,
    message: nonEmptyText(error.message) ?? '',
    param: nonEmptyText(error.param),
  };
}
