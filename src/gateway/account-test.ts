/**
 * A test of one account by the operator: one small streamed request to its provider, in spite of parks and cooldowns, free of charge
 * for every user. A success ends the cooldowns of the account, and a fault counts as in any attempt.
 */
import { type Account, capabilitiesFor, type Model } from '../catalog/index.ts';
import { readSse } from '../core/index.ts';
import { codecOf, encodeRequestFor, type HubEvent, openDecoding, type Pair } from '../dialects/index.ts';
import type { AttemptFault } from '../pool/index.ts';
import { type Dialect, type FaultKind, faultRow, type Style, TIMEOUTS } from '../rules/index.ts';
import {
  CREDENTIAL_HEADER,
  locateUpstream,
  type TransportError,
  type UpstreamExchange,
  type UpstreamListener,
  type UpstreamRequest,
} from '../upstream/index.ts';
import { faultKindOf } from './converted/reply-error.ts';
import { FIXED_HEADERS, UPSTREAM_PATHS } from './converted/round-request.ts';
import { failureMessage } from './failure-reason.ts';
import { upstreamName } from './models/resolve.ts';
import { redact } from './redact.ts';
import type { GatewayServices } from './services.ts';

export interface AccountTest {
  /** The model as the provider names it. */
  readonly model: string;
  /** The HTTP status; undefined when no response arrived. */
  readonly status: number | undefined;
  /** Until the first event of the reply. */
  readonly firstEventMs: number | undefined;
  readonly durationMs: number;
  /** Undefined for a success. */
  readonly fault: FaultKind | undefined;
  /** The provider's code, or that of the network error. */
  readonly code: string | undefined;
  /** The provider's words, without secrets. */
  readonly message: string | undefined;
}

/** Why an account cannot be tested. */
export type UntestableAccount = 'unknown_account' | 'unknown_model' | 'no_model' | 'video';

type Services = Pick<GatewayServices, 'catalog' | 'pool' | 'upstream' | 'clock'>;

export async function testAccount(
  services: Services,
  accountId: string,
  modelName: string | undefined,
): Promise<AccountTest | UntestableAccount> {
  const catalog = services.catalog();
  const account = catalog.allAccounts().find(({ id }) => id === accountId);
  const style = account && catalog.group(account.groupId)?.style;
  if (!account || style === undefined) return 'unknown_account';
  if (style === 'video') return 'video';
  const name = modelName ?? catalog.lines(account.groupId).find(({ pattern }) => !pattern.includes('*'))?.pattern;
  if (name === undefined) return 'no_model';
  const model = catalog.resolve(account.groupId, name);
  if (!model) return 'unknown_model';
  return new Probe(services, { account, style, model }).run();
}

interface Target {
  readonly account: Account;
  readonly style: Style;
  readonly model: Model;
}

const PROMPT = {
  max_tokens: 16,
  stream: true,
  messages: [{ role: 'user', content: 'Reply with the word ok.' }],
};

/** A reply of 16 tokens is far smaller. */
const MAX_BYTES = 256 * 1024;

class Probe implements UpstreamListener {
  readonly #services: Services;
  readonly #account: Account;
  readonly #pair: Pair;
  readonly #model: string;
  readonly #request: UpstreamRequest;
  readonly #result = Promise.withResolvers<AccountTest>();
  readonly #startedAt: number;
  readonly #decoding: ReturnType<typeof openDecoding>;
  readonly #reader = readSse((data, event) => this.#onEvents(this.#decoding.decode(data, event)));
  readonly #use: { readonly model: string; readonly operation: 'reply' };
  #release: (fault?: AttemptFault) => void = () => {};
  #exchange: UpstreamExchange | undefined;
  #status: number | undefined;
  #headers: Parameters<UpstreamListener['onHead']>[1] = {};
  #errorBody = '';
  #bytes = 0;
  #firstEventMs: number | undefined;

  constructor(services: Services, { account, style, model }: Target) {
    this.#services = services;
    this.#account = account;
    this.#startedAt = services.clock.elapsed();
    this.#model = upstreamName(model, account);
    this.#use = { model: model.upstream, operation: 'reply' };
    const dialect = dialectOf(style, account);
    this.#pair = { client: codecOf('messages').client, upstream: codecOf(dialect).upstream };
    const hub = this.#pair.client.decodeRequest({ ...PROMPT, model: model.name }, { headers: {} });
    const capabilities = capabilitiesFor(style, { ...model, upstream: this.#model });
    const encoded = encodeRequestFor(this.#pair, hub, { model: this.#model, capabilities });
    this.#decoding = openDecoding(this.#pair.upstream, encoded, { requestId: 'account_test' });
    this.#request = {
      method: 'POST',
      ...locateUpstream(style, account.baseUrl, UPSTREAM_PATHS[dialect](this.#model, true)),
      headers: [
        ...FIXED_HEADERS,
        ...Object.entries(encoded.headers).flat(),
        ...CREDENTIAL_HEADER[style](account.credential),
      ],
      body: JSON.stringify(encoded.body),
      proxy: account.proxy,
      timeouts: TIMEOUTS.count,
    };
  }

  run(): Promise<AccountTest> {
    const { pool, upstream } = this.#services;
    const lease = pool.leaseForTest(this.#account, this.#use);
    this.#release = (fault) => lease.release(fault);
    this.#exchange = upstream.send(this.#request, this);
    return this.#result.promise;
  }

  onHead(status: number, headers: Parameters<UpstreamListener['onHead']>[1]): void {
    this.#status = status;
    this.#headers = headers;
  }

  onData(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BYTES) {
      this.#exchange?.abort();
      this.onEnd();
    } else if (this.#isSuccess) this.#reader.feed(chunk);
    else this.#errorBody += chunk.toString();
    return true;
  }

  onEnd(): void {
    if (this.#isSuccess) return this.#endReply();
    const failure = { status: this.#status ?? 0, headers: this.#headers, body: this.#errorBody };
    const { kind, cooldownMs, providerCode } = this.#pair.upstream.decodeError(failure);
    const message = failureMessage(failure.body, this.#account);
    this.#finish({ kind, cooldownMs, providerCode: providerCode ?? `http_${failure.status}`, message });
  }

  onError({ kind, code }: TransportError): void {
    this.#finish({ kind, providerCode: code });
  }

  get #isSuccess(): boolean {
    return this.#status !== undefined && this.#status < 300;
  }

  #endReply(): void {
    this.#reader.end({ keepTail: true });
    this.#onEvents(this.#decoding.end());
    this.#finish({ kind: 'truncated' });
  }

  /** A provider may fail inside a stream that began with success. */
  #onEvents(events: readonly HubEvent[]): void {
    for (const event of events) {
      this.#firstEventMs ??= this.#elapsed();
      if (event.kind === 'finish') this.#finish(undefined);
      if (event.kind !== 'error') continue;
      const { code, message } = event.error;
      this.#finish({ kind: faultKindOf(code), providerCode: code, message: redact(message, this.#account) });
    }
  }

  /** Only the first outcome counts. */
  #finish(fault: AttemptFault | undefined): void {
    this.#exchange?.abort();
    this.#release(fault && (faultRow(fault.kind).showsMessage ? fault : { ...fault, message: undefined }));
    this.#result.resolve({
      model: this.#model,
      status: this.#status,
      firstEventMs: this.#firstEventMs,
      durationMs: this.#elapsed(),
      fault: fault?.kind,
      code: fault?.providerCode,
      message: fault?.message,
    });
  }

  #elapsed(): number {
    return Math.round(this.#services.clock.elapsed() - this.#startedAt);
  }
}

function dialectOf(style: Style, { features }: Account): Dialect {
  if (style === 'messages') return 'messages';
  if (style === 'generate-content') return 'generate';
  return features.has('responses') ? 'responses' : 'chat';
}
