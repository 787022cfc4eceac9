/** Sends requests of accounts at clouds, changed and signed, with responses in the form of the provider's own API, so that callers see no difference. */
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
    if (!prepared) return new MadeExchange(listener, unknownEndpoint(use, request.path));
    const signed = cloud.sign(prepared);
    const watched = watching(listener, cloud);
    const inner = cloud.listen?.(watched, use, request);
    const send = (ready: HttpRequest): Exchange => {
      const exchange = this.#services.http.send(ready, inner ?? watched);
      if (inner) inner.upstream = exchange;
      return exchange;
    };
    if (!(signed instanceof Promise)) return send(signed);
    const pending = new PendingExchange();
    signed.then(
      (ready) => pending.begin(() => send(ready)),
      (error: unknown) => pending.begin(() => failedSignIn(listener, use, error)),
    );
    return pending;
  }
}

const unknownEndpoint = ({ style, cloud }: CloudUse, path: string): clouds.MadeResponse =>
  clouds.errorResponse(style, 404, clouds.UNKNOWN_ENDPOINT, `${cloud.kind} has no ${path.replace(/\?.*$/s, '')}.`);

/** A refusal is a response, so that the account is parked and operators read why. Anything else says nothing about the account. */
function failedSignIn(listener: ResponseListener, { style }: CloudUse, error: unknown): Exchange {
  if (!(error instanceof SignInError)) return new MadeExchange(listener, 'SIGN_IN_FAILED');
  if (error.isRefused)
    return new MadeExchange(listener, clouds.errorResponse(style, 401, clouds.UNAUTHENTICATED, error.message));
  return new MadeExchange(listener, error.code);
}

/** Drops a token that the cloud rejects. The status is that of the provider's own API: some clouds have another one for it. */
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

class PendingExchange implements Exchange {
  #inner: Exchange | undefined;
  #isAborted = false;

  begin(send: () => Exchange): void {
    if (!this.#isAborted) this.#inner = send();
  }

  resume(): void {
    this.#inner?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#inner?.abort();
  }
}

/** A response of the gateway itself, or the code of an error before anything was sent. */
class MadeExchange implements Exchange {
  #isAborted = false;

  constructor(listener: ResponseListener, outcome: clouds.MadeResponse | string) {
    queueMicrotask(() => {
      if (this.#isAborted) return;
      if (typeof outcome === 'string') return listener.onError({ kind: 'unreachable', code: outcome });
      listener.onHead(outcome.status, outcome.headers);
      if (!this.#isAborted) listener.onData(outcome.body);
      if (!this.#isAborted) listener.onEnd();
    });
  }

  resume(): void {}

  abort(): void {
    this.#isAborted = true;
  }
}
