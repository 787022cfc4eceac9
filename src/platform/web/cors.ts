/**
 * Cross-origin requests to the caller's API, for the operator's origins.
 * Never the admin API or the console, never cookies.
 */
import { matchesGlob } from '../../core/index.ts';
import { CORS_MAX_AGE_S, CORS_REQUEST_HEADERS, CORS_RESPONSE_HEADERS, ENDPOINTS } from '../../rules/index.ts';
import type { IncomingRequest } from '../http/index.ts';
import type { AnyOperation } from './call.ts';
import { matchRoute, methodsOf } from './routes.ts';

type Headers = Readonly<Record<string, string>>;

const ANY = '*';
const EXPOSED = { 'access-control-expose-headers': CORS_RESPONSE_HEADERS.join(', ') };
/** SDKs send about twenty. */
const MAX_NAMES = 100;

export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** Origins such as `https://app.example`, or `*` alone. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Headers of every response to an operation; none when it is not of the caller's API. */
  responseHeaders(request: IncomingRequest, operation: AnyOperation): Headers {
    if (!(operation in ENDPOINTS)) return {};
    const origin = this.#originHeaders(request);
    return 'access-control-allow-origin' in origin ? { ...origin, ...EXPOSED } : origin;
  }

  /** Headers of the response to a preflight request; undefined when the request is none, or may not be sent. */
  preflightHeaders(request: IncomingRequest, path: string): Headers | undefined {
    const { method, headers } = request;
    const wanted = headers['access-control-request-method'];
    if (method !== 'OPTIONS' || wanted === undefined) return undefined;
    const operation = matchRoute(wanted, path)?.route.operation;
    const origin = this.#originHeaders(request);
    if (operation === undefined || !(operation in ENDPOINTS) || !('access-control-allow-origin' in origin))
      return undefined;
    return {
      ...origin,
      'access-control-allow-methods': methodsOf(path).join(', '),
      'access-control-allow-headers': allowedOf(headers['access-control-request-headers'] ?? ''),
      'access-control-max-age': String(CORS_MAX_AGE_S),
    };
  }

  /** `vary` even without an allowed origin: a cache must not hand this response to another origin. */
  #originHeaders({ headers: { origin } }: IncomingRequest): Headers {
    if (this.#origins.has(ANY)) return { 'access-control-allow-origin': ANY };
    return origin !== undefined && this.#origins.has(origin)
      ? { 'access-control-allow-origin': origin, vary: 'origin' }
      : { vary: 'origin' };
  }
}

const allowedOf = (requested: string): string =>
  requested
    .toLowerCase()
    .split(',', MAX_NAMES)
    .map((name) => name.trim())
    .filter((name) => /^[\w-]+$/.test(name) && CORS_REQUEST_HEADERS.some((pattern) => matchesGlob(pattern, name)))
    .join(', ');
