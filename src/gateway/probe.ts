/**
 * A real, tiny streamed request to one account, as a check that it works. The operator pays the provider for it; no user is charged, and
 * neither cooldowns nor metrics change.
 */
import {
  type Account,
  type Catalog,
  capabilitiesFor,
  type Group,
  isUsable,
  type Model,
  type ModelLine,
  priceAt,
} from '../catalog/index.ts';
import { ApiError, type Clock, EVENT_STREAM, isEventStream, isGlob, readSse } from '../core/index.ts';
import { codecOf, type HubEvent } from '../dialects/index.ts';
import type { HttpHeaders } from '../http/index.ts';
import { parseRates } from '../ledger/index.ts';
import { DIALECTS, type Dialect, FEATURES, type Style } from '../rules/index.ts';
import {
  CREDENTIAL_HEADER,
  locateUpstream,
  type TransportError,
  type UpstreamClient,
  type UpstreamExchange,
  type UpstreamListener,
  type UpstreamRequest,
} from '../upstream/index.ts';
import { FIXED_HEADERS, UPSTREAM_PATHS } from './converted/round-request.ts';
import { messageIn } from './failure-reason.ts';
import { upstreamName } from './models/resolve.ts';
import { redact } from './redact.ts';

export interface ProbeServices {
  readonly clock: Clock;
  readonly upstream: UpstreamClient;
  readonly catalog: () => Catalog;
}

export interface ProbeResult {
  /** The stream came to its end without an error. */
  readonly ok: boolean;
  /** HTTP status of the provider; null when there was no response. */
  readonly status: number | null;
  /** Until the first byte of the body. */
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  /** The provider's own error message without secrets, the code of a network error, or why nothing was sent; null when `ok`. */
  readonly words: string | null;
  /** The name that the provider got; null when nothing was sent. */
  readonly model: string | null;
}

const TIME_LIMIT_MS = 30_000;
const TIMEOUTS = { connect: 5_000, firstByte: TIME_LIMIT_MS, idle: TIME_LIMIT_MS, total: TIME_LIMIT_MS };
/** Some providers refuse less. */
const MAX_OUTPUT = 16;
/** A reply of this size is no reply of so few tokens. */
const MAX_BYTES = 256 * 1024;
const MAX_WORDS = 300;

/** `modelName` is a model of the group; without it the cheapest one by its price in the catalog. Never throws. */
export function probeAccount(
  services: ProbeServices,
  group: Group,
  account: Account,
  modelName?: string,
): Promise<ProbeResult> {
  if (group.style === 'video')
    return Promise.resolve(notSent('Video accounts are not tested, because a task costs money.'));
  const { style } = group;
  const dialect = dialectOf(style, account);
  if (!dialect) return Promise.resolve(notSent('The account has no feature that answers a text request.'));
  const model = modelFor(services, group, modelName);
  if (!model)
    return Promise.resolve(notSent('No text model of the group has a fixed name; name a model to test with.'));
  const name = upstreamName(model, account);
  return new Probe(services, account, { dialect, name }).send(requestFor({ style, account, model, dialect, name }));
}

const notSent = (words: string): ProbeResult => ({
  ok: false,
  status: null,
  firstByteMs: null,
  totalMs: 0,
  words,
  model: null,
});

/** The first dialect of the style that the account has. */
const dialectOf = (style: Style, { features }: Account): Dialect | undefined =>
  DIALECTS.find((name) => name === FEATURES[style].find((feature) => isDialect(feature) && features.has(feature)));

const isDialect = (feature: string): boolean => DIALECTS.some((name) => name === feature);

function modelFor({ catalog, clock }: ProbeServices, { id }: Group, name: string | undefined): Model | undefined {
  if (name !== undefined) return catalog().resolve(id, name);
  const now = clock.now();
  const named = catalog()
    .lines(id)
    .filter((line) => !isGlob(line.pattern) && line.overrides.imageOutput !== true && isUsable(line, now));
  const [cheapest] = named.toSorted((a, b) => outputRate(a, now) - outputRate(b, now));
  return cheapest && catalog().resolve(id, cheapest.pattern);
}

/** Models without a price for output, such as those for embeddings, come last. */
function outputRate(line: ModelLine, now: number): number {
  const price = priceAt(line, now);
  if (!price) return Number.MAX_SAFE_INTEGER;
  return Number(parseRates(price.rates).output ?? Number.MAX_VALUE);
}

interface ProbeTarget {
  readonly style: Style;
  readonly account: Account;
  readonly model: Model;
  readonly dialect: Dialect;
  readonly name: string;
}

function requestFor({ style, account, model, dialect, name }: ProbeTarget): UpstreamRequest {
  const hub = codecOf('chat').client.decodeRequest(
    { model: name, messages: [{ role: 'user', content: 'Reply: ok' }], max_tokens: MAX_OUTPUT, stream: true },
    { headers: {} },
  );
  const { body, headers } = codecOf(dialect).upstream.encodeRequest(
    { ...hub, state: { store: false } },
    { model: name, capabilities: capabilitiesFor(style, { ...model, upstream: name }) },
  );
  return {
    method: 'POST',
    ...locateUpstream(style, account.baseUrl, UPSTREAM_PATHS[dialect](name, true)),
    headers: [...FIXED_HEADERS, ...Object.entries(headers).flat(), ...CREDENTIAL_HEADER[style](account.credential)],
    body: JSON.stringify(body),
    proxy: account.proxy,
    timeouts: TIMEOUTS,
  };
}

class Probe implements UpstreamListener {
  readonly #services: ProbeServices;
  readonly #account: Account;
  readonly #sent: { readonly dialect: Dialect; readonly name: string };
  readonly #startedAt: number;
  readonly #result = Promise.withResolvers<ProbeResult>();
  readonly #chunks: Buffer[] = [];
  #exchange: UpstreamExchange | undefined;
  #status: number | undefined;
  #headers: HttpHeaders = {};
  #firstByteMs: number | undefined;
  #bytes = 0;

  constructor(services: ProbeServices, account: Account, sent: { readonly dialect: Dialect; readonly name: string }) {
    this.#services = services;
    this.#account = account;
    this.#sent = sent;
    this.#startedAt = services.clock.elapsed();
  }

  send(request: UpstreamRequest): Promise<ProbeResult> {
    const { clock, upstream } = this.#services;
    this.#exchange = upstream.send(request, this);
    const cancel = clock.after(TIME_LIMIT_MS, () =>
      this.#stop(`No complete response within ${TIME_LIMIT_MS / 1000} s.`),
    );
    return this.#result.promise.finally(cancel);
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onData(chunk: Buffer): boolean {
    this.#firstByteMs ??= this.#elapsedMs();
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_BYTES) return true;
    this.#stop(`The reply is larger than ${MAX_BYTES / 1024} KiB.`);
    return false;
  }

  onEnd(): void {
    const body = Buffer.concat(this.#chunks).toString('utf8');
    const status = this.#status ?? 0;
    if (status >= 200 && status < 300) return this.#end(this.#errorIn(body));
    this.#end(messageIn(body) ?? `The provider responded with HTTP ${status} and no error message.`);
  }

  onError({ code }: TransportError): void {
    this.#end(code);
  }

  #stop(words: string): void {
    this.#exchange?.abort();
    this.#end(words);
  }

  /** The message of an error inside a stream, or why the stream is incomplete. */
  #errorIn(body: string): string | undefined {
    // Some servers respond to a stream request with one JSON body.
    if (!isEventStream(this.#headers['content-type'] ?? EVENT_STREAM)) return this.#errorInJson(body);
    const decoder = codecOf(this.#sent.dialect).upstream.openDecoder({ requestId: 'probe' });
    const events: HubEvent[] = [];
    let words: string | undefined;
    const reader = readSse((data, event) => {
      const decoded = decoder.push(data, event);
      events.push(...decoded);
      if (decoded.some(({ kind }) => kind === 'error')) words ??= messageIn(data);
    });
    reader.feed(body);
    reader.end({ keepTail: true });
    if (!events.some(({ kind }) => kind === 'finish')) events.push(...decoder.end());
    const error = events.find((event) => event.kind === 'error');
    return words ?? error?.error.message;
  }

  #errorInJson(body: string): string | undefined {
    try {
      codecOf(this.#sent.dialect).upstream.decodeReply(JSON.parse(body), { requestId: 'probe' });
      return undefined;
    } catch (error) {
      return error instanceof ApiError ? error.message : 'The response is neither a stream nor JSON.';
    }
  }

  #end(words: string | undefined): void {
    this.#result.resolve({
      ok: words === undefined,
      status: this.#status ?? null,
      firstByteMs: this.#firstByteMs ?? null,
      totalMs: this.#elapsedMs(),
      words: words === undefined ? null : redact(words, this.#account).slice(0, MAX_WORDS),
      model: this.#sent.name,
    });
  }

  #elapsedMs(): number {
    return Math.round((this.#services.clock.elapsed() - this.#startedAt) * 10) / 10;
  }
}
