/** One request to a provider and its JSON response, held in memory. Transport errors are values; nothing is retried. */
import type { Account } from '../../catalog/index.ts';
import { valueOfJson } from '../../core/index.ts';
import { wholeResponse } from '../../platform/http/index.ts';
import type { TransportError, UpstreamClient, UpstreamRequest } from '../../providers/upstream/index.ts';

export type ResponseObject = Readonly<Record<string, unknown>>;

export interface JsonResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Undefined when the body is not a JSON object. */
  readonly body: ResponseObject | undefined;
}

const MAX_RESPONSE_BYTES = 8 * 2 ** 20;

export async function exchangeJson(
  upstream: UpstreamClient,
  request: UpstreamRequest,
): Promise<JsonResponse | TransportError> {
  const response = await wholeResponse(upstream, request, MAX_RESPONSE_BYTES);
  if ('code' in response) return response;
  return { ...response, body: objectOf(valueOfJson(response.body.toString('utf8'))) };
}

interface AccountRequest extends Pick<UpstreamRequest, 'method' | 'timeouts' | 'connection'> {
  /** Below the address of the account. */
  readonly path: string;
  readonly content?: { readonly body: Buffer | string; readonly headers: readonly string[] } | undefined;
}

/** The same with the credential of the account. */
export function exchangeAs(
  upstream: UpstreamClient,
  { baseUrl, credential, proxy }: Account,
  { path, content, ...request }: AccountRequest,
): Promise<JsonResponse | TransportError> {
  const { origin, pathname } = new URL(baseUrl);
  const headers = ['authorization', `Bearer ${credential}`, 'accept-encoding', 'identity', 'user-agent', 'dragoman'];
  if (content) headers.push('content-type', 'application/json', ...content.headers);
  const body = content?.body ?? null;
  return exchangeJson(upstream, {
    ...request,
    origin,
    path: pathname.replace(/\/+$/, '') + path,
    headers,
    body,
    proxy,
  });
}

export const objectOf = (value: unknown): ResponseObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ResponseObject) : undefined;

/**
 * An address that a person opens in a browser. It must be https; http is accepted only on the host of an account that is itself reached
 * by http, such as a simulated provider. Anything else could run script, or reach into the network of the person.
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
