/** What a cloud does with the requests of an account: where they go, how they change, and how they are signed. */
import type { Clock } from '../../../core/index.ts';
import type { Exchange, HttpClient, HttpHeaders, HttpRequest, ResponseListener } from '../../../platform/http/index.ts';
import type { Style } from '../../../rules/index.ts';
import type { CloudUse } from '../account-url.ts';
import type { TokenCache } from './token-cache.ts';

export interface CloudServices {
  readonly clock: Clock;
  /** Sends as any request of an account: through its proxy. */
  readonly http: Pick<HttpClient, 'send'>;
  readonly machine: Machine;
  readonly tokens: TokenCache;
}

/** Reads a response in the form of the cloud. It may have to end the exchange. */
export interface CloudListener extends ResponseListener {
  upstream?: Exchange | undefined;
}

/** The cloud of one account, as long as its settings stay. */
export interface Cloud {
  /** The request in the form of the cloud. Undefined when the cloud has no such operation. */
  prepare(request: HttpRequest, use: CloudUse): HttpRequest | undefined;
  /** Adds the credential. A promise only when there is none at hand. Rejects with a `SignInError`. */
  sign(request: HttpRequest): HttpRequest | Promise<HttpRequest>;
  listen?(listener: ResponseListener, use: CloudUse, request: HttpRequest): CloudListener | undefined;
  /** The cloud rejected the credential: the next request gets a new one. */
  forget(): void;
}

export interface MadeResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: Buffer;
}

const ERROR_BODIES: Readonly<Record<Style, (status: number, names: ErrorNames, message: string) => object>> = {
  responses: (_status, { openai }, message) => ({
    error: { message, type: 'invalid_request_error', param: null, code: openai },
  }),
  messages: (_status, { anthropic }, message) => ({ type: 'error', error: { type: anthropic, message } }),
  'generate-content': (status, { google }, message) => ({ error: { code: status, message, status: google } }),
};

export type ErrorNames = Readonly<Record<'openai' | 'anthropic' | 'google', string>>;

export const UNAUTHENTICATED: ErrorNames = {
  openai: 'invalid_api_key',
  anthropic: 'authentication_error',
  google: 'UNAUTHENTICATED',
};
export const UNKNOWN_ENDPOINT: ErrorNames = {
  openai: 'model_not_found',
  anthropic: 'not_found_error',
  google: 'NOT_FOUND',
};

export function errorResponse(style: Style, status: number, names: ErrorNames, message: string): MadeResponse {
  const body = Buffer.from(JSON.stringify(ERROR_BODIES[style](status, names, message)));
  return { status, headers: { 'content-type': 'application/json', 'content-length': String(body.length) }, body };
}

/**
 * What the machine offers for signing in to a cloud.
 * Paths come from the environment only: an account could send any file elsewhere.
 */
export interface Machine {
  /** The file with the token of a federated identity, by the kind of cloud. */
  readonly tokenFiles: { readonly [K in 'azure' | 'google' | 'aws']?: string | undefined };
  /** The endpoint of managed identities in App Service and Container Apps. */
  readonly identityEndpoint?: string | undefined;
  readonly identityHeader?: string | undefined;
  /**
   * The credentials of a container: a path at the address of its agent,
   * or a URL, and what proves that the request comes from it.
   */
  readonly containerPath?: string | undefined;
  readonly containerUrl?: string | undefined;
  readonly containerToken?: string | undefined;
  readonly containerTokenFile?: string | undefined;
}

export const NO_MACHINE: Machine = { tokenFiles: {} };
