/**
 * Sends requests of accounts at clouds, changed and signed,
 * with responses in the form of the provider's own API, so that callers see no difference.
 */
import { entryOf } from '../../../core/index.ts';
import type { Exchange, HttpHeaders, HttpRequest, ResponseListener } from '../../../platform/http/index.ts';
import type { AccountKind, CloudSettings } from '../../../rules/index.ts';
import type { CloudUse } from '../account-url.ts';
import { azureOpenAi } from './azure-openai.ts';
import { bedrock } from './bedrock.ts';
import * as clouds from './cloud.ts';
import { SignInError, TokenCache } from './token-cache.ts';
import { vertex } from './vertex.ts';

const CLOUDS: Readonly<Record<AccountKind, (services: clouds.CloudServices, use: CloudUse) => clouds.Cloud>> = {
  'azure-openai': azureOpenAi,
  vertex,
  bedrock,
};

export class CloudClient {
  readonly #services: clouds.CloudServices;
  /** The object is that of the catalog, so that each revision of it resolves its accounts once. */
  readonly #clouds = new WeakMap<CloudSettings, clouds.Cloud>();

  constructor(services: Omit<clouds.CloudServices, 'tokens'>) {
    this.#services = { ...services, tokens: new TokenCache(services.clock) };
  }

  send(request: HttpRequest, use: CloudUse, listener: ResponseListener): Exchange {
    const cloud = entryOf(this.#clouds, use.cloud, () => CLOUDS[use.cloud.kind](this.#services, use));
    const prepared = cloud.prepare(request, use);
    if (!prepared) return madeExchange(listener, unknownEndpoint(use, request.path));
    const signed = cloud.sign(prepared);
    const watched = watching(listener, cloud);
    const inner = cloud.listen?.(watched, use, request);
    const send = (ready: HttpRequest): Exchange => {
      const exchange = this.#services.http.send(ready, inner ?? watched);
      if (inner) inner.upstream = exchange;
      return exchange;
    };
    if (!(signed instanceof Promise)) return send(signed);
    const begin = signed.then(
      (ready) => () => send(ready),
      (error: unknown) => () => failedSignIn(listener, use, error),
    );
    return pendingExchange(begin);
  }
}

const unknownEndpoint = ({ style, cloud }: CloudUse, path: string): clouds.MadeResponse =>
  clouds.errorResponse(style, 404, clouds.UNKNOWN_ENDPOINT, `${cloud.kind} has no ${path.replace(/\?.*$/s, '')}.`);

/**
 * A refusal is a response, so that the account is parked and operators read why.
 * Anything else says nothing about the account.
 */
function failedSignIn(listener: ResponseListener, { style }: CloudUse, error: unknown): Exchange {
  if (!(error instanceof SignInError)) return madeExchange(listener, 'SIGN_IN_FAILED');
  if (error.isRefused)
    return madeExchange(listener, clouds.errorResponse(style, 401, clouds.UNAUTHENTICATED, error.message));
  return madeExchange(listener, error.code);
}

/**
 * Drops a token that the cloud rejects. The status is that of the provider's own API:
 * some clouds have another one for it.
 */
function watching(listener: ResponseListener, cloud: clouds.Cloud): ResponseListener {
  return {
    onHead(status: number, headers: HttpHeaders) {
      if (status === 401) cloud.forget();
      listener.onHead(status, headers);
    },
    onData: (chunk) => listener.onData(chunk),
    onEnd: () => listener.onEnd(),
    onError: (error) => listener.onError(error),
  };
}

/** Begins when its request is ready, unless it was aborted before. */
function pendingExchange(begin: Promise<() => Exchange>): Exchange {
  let inner: Exchange | undefined;
  let isAborted = false;
  void begin.then((send) => {
    if (!isAborted) inner = send();
  });
  return {
    resume: () => inner?.resume(),
    abort() {
      isAborted = true;
      inner?.abort();
    },
  };
}

/** A response of the gateway itself, or the code of an error before anything was sent. */
function madeExchange(listener: ResponseListener, outcome: clouds.MadeResponse | string): Exchange {
  let isAborted = false;
  queueMicrotask(() => {
    if (isAborted) return;
    if (typeof outcome === 'string') return listener.onError({ kind: 'unreachable', code: outcome });
    listener.onHead(outcome.status, outcome.headers);
    if (!isAborted) listener.onData(outcome.body);
    if (!isAborted) listener.onEnd();
  });
  return {
    resume() {},
    abort() {
      isAborted = true;
    },
  };
}
