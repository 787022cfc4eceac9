/** Credentials of a cloud at their source: a token endpoint, the metadata service of the machine, or a file. */
import { constants, createPrivateKey, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { valueOfJson } from '../../../core/index.ts';
import { type HttpClient, type HttpRequest, wholeResponse } from '../../../platform/http/index.ts';
import { type Expiring, SignInError } from './token-cache.ts';

export interface TokenRequest {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: readonly string[];
  /** Sent as a form; a text is sent as it is. */
  readonly form?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly accept?: string;
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
const LATER: ReadonlySet<number> = new Set([408, 410, 425, 429]);

/** Rejects with a `SignInError`: refused by the service with a status of its own, else to be tried again. */
export async function requestToken(http: Pick<HttpClient, 'send'>, request: TokenRequest): Promise<TokenResponse> {
  const response = await exchange(http, request);
  if (response.status >= 200 && response.status < 300) return response;
  const isLater = LATER.has(response.status) || response.status >= 500;
  throw new SignInError(refusal(request, response), `TOKEN_HTTP_${response.status}`, !isLater);
}

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

function refusal({ url }: TokenRequest, { status, text }: TokenResponse): string {
  const body = parseObject(text);
  const said = body ? messageOf(body) : (xmlMessage(text) ?? text);
  const message = said.replaceAll(/\s+/g, ' ').slice(0, MAX_MESSAGE_CHARS);
  return `${hostOf(url)} refused the sign-in (HTTP ${status}): ${message}`;
}

function messageOf(body: Readonly<Record<string, unknown>>): string {
  const { error, error_description: description, Message, message } = body;
  if (typeof error === 'object' && error !== null) return messageOf(error as Record<string, unknown>);
  return [error, description, Message, message].filter((word) => typeof word === 'string').join(': ');
}

function xmlMessage(text: string): string | undefined {
  const [, code, message] = /<Code>([^<]*)<\/Code>\s*<Message>([^<]*)<\/Message>/.exec(text) ?? [];
  return code === undefined ? undefined : `${code}: ${message}`;
}

export const hostOf = (url: string): string => URL.parse(url)?.host ?? 'The token service';

export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = valueOfJson(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

export function expiringToken(issuer: string, token: unknown, seconds: number): Expiring<string> {
  if (typeof token === 'string' && token !== '' && seconds > 0) return { value: token, lifeMs: seconds * 1000 };
  throw new SignInError(`${issuer} responded without a token.`, 'TOKEN_MISSING', false);
}

/** Reads the file each time: Kubernetes replaces it before the token in it ends. */
export async function readTokenFile(path: string | undefined, variable: string): Promise<string> {
  if (path === undefined) throw new SignInError(`${variable} is not set on this machine.`, 'TOKEN_FILE', true);
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text.trim() !== '') return text.trim();
  throw new SignInError(`The file of ${variable} cannot be read or is empty.`, 'TOKEN_FILE', false);
}

export interface JwtHead {
  readonly alg: 'PS256' | 'RS256';
  readonly [name: string]: string;
}

/** Signs what an account says about itself, with RSA: PKCS 1 for RS256, PSS for PS256. */
export function signJwt(head: JwtHead, claims: object, pem: string): string {
  const text = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const key = createPrivateKey(pem);
  const padding =
    head.alg === 'PS256'
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : { padding: constants.RSA_PKCS1_PADDING };
  return `${text}.${sign('sha256', Buffer.from(text), { key, ...padding }).toString('base64url')}`;
}
