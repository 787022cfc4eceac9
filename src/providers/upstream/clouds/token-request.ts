/** One small request for a credential: to a token endpoint, or to the metadata service of the machine. */
import { valueOfJson } from '../../../core/index.ts';
import { type HttpClient, type HttpRequest, wholeResponse } from '../../../platform/http/index.ts';
import { SignInError } from './sign-in-error.ts';

export interface TokenRequest {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: readonly string[];
  /** Sent as a form; a text is sent as it is. */
  readonly form?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly accept?: string;
  /** Adds a signature. */
  readonly sign?: (request: HttpRequest) => HttpRequest;
  /** That of the account; services of the machine are reached without one. */
  readonly proxy?: string | undefined;
}

export interface TokenResponse {
  readonly status: number;
  readonly text: string;
}

const TIMEOUTS: HttpRequest['timeouts'] = { connect: 5_000, firstByte: 10_000, idle: 10_000, total: 15_000 };
const MAX_BYTES = 64 * 1024;
/** Statuses by which a service says that it cannot respond now. */
const LATER: ReadonlySet<number> = new Set([408, 410, 425, 429]);

/** Rejects with a `SignInError`: refused by the service with a status of its own, else to be tried again. */
export async function requestToken(http: Pick<HttpClient, 'send'>, request: TokenRequest): Promise<TokenResponse> {
  const response = await exchange(http, request);
  if (response.status >= 200 && response.status < 300) return response;
  const isLater = LATER.has(response.status) || response.status >= 500;
  throw new SignInError(refusal(request, response), `TOKEN_HTTP_${response.status}`, !isLater);
}

/** The response as JSON. */
export async function requestJson(
  http: Pick<HttpClient, 'send'>,
  request: TokenRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const { text } = await requestToken(http, request);
  const value = parseObject(text);
  if (value) return value;
  throw new SignInError(`${hostOf(request.url)} responded with something else than JSON.`, 'TOKEN_NOT_JSON', false);
}

async function exchange(http: Pick<HttpClient, 'send'>, request: TokenRequest): Promise<TokenResponse> {
  const { method = 'POST', url, headers = [], form, body, proxy, accept = 'application/json' } = request;
  const { origin, pathname, search } = new URL(url);
  const type = form ? ['content-type', 'application/x-www-form-urlencoded'] : [];
  const { sign = (unsigned) => unsigned } = request;
  const signed = sign({
    method,
    origin,
    path: pathname + search,
    headers: [...headers, ...type, 'accept', accept, 'user-agent', 'dragoman'],
    body: form ? new URLSearchParams(form).toString() : (body ?? null),
    timeouts: TIMEOUTS,
    proxy,
  });
  const response = await wholeResponse(http, signed, MAX_BYTES);
  if ('status' in response) return { status: response.status, text: response.body.toString('utf8') };
  const { code } = response;
  throw new SignInError(`${hostOf(url)} did not respond with a token (${code}).`, `TOKEN_${code}`, false);
}

const MAX_MESSAGE_CHARS = 300;

/** What the service says, in one line. */
function refusal({ url }: TokenRequest, { status, text }: TokenResponse): string {
  const body = parseObject(text);
  const said = body ? messageOf(body) : (xmlMessage(text) ?? text);
  return `${hostOf(url)} refused the sign-in (HTTP ${status}): ${said.replaceAll(/\s+/g, ' ').slice(0, MAX_MESSAGE_CHARS)}`;
}

function messageOf(body: Readonly<Record<string, unknown>>): string {
  const { error, error_description: description, Message, message } = body;
  if (typeof error === 'object' && error !== null) return messageOf(error as Record<string, unknown>);
  return [error, description, Message, message].filter((word) => typeof word === 'string').join(': ');
}

/** The error of a token service that speaks XML. */
function xmlMessage(text: string): string | undefined {
  const [, code, message] = /<Code>([^<]*)<\/Code>\s*<Message>([^<]*)<\/Message>/.exec(text) ?? [];
  return code === undefined ? undefined : `${code}: ${message}`;
}

export const hostOf = (url: string): string => URL.parse(url)?.host ?? 'The token service';

export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = valueOfJson(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
