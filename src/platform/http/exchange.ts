/**
 * One request and its response on a transport, with limits and back-pressure.
 * Failures are values with a kind. Decodes bodies.
 */
import type { Clock } from '../../core/index.ts';
import { CLIENT_BOUNDS } from './bounds.ts';
import * as client from './client.ts';
import { ContentDecoder, canDecode, encodingOf, withoutEncoding } from './content-decoder.ts';
import { Deadlines, type HasDeadline } from './deadlines.ts';
import type { HttpHeaders } from './headers.ts';

export class ExchangeClient implements client.HttpClient {
  readonly #transport: client.HttpTransport;
  readonly #deadlines: Deadlines;

  constructor(clock: Clock, transport: client.HttpTransport) {
    this.#transport = transport;
    this.#deadlines = new Deadlines(clock);
  }

  send(request: client.HttpRequest, listener: client.ResponseListener): client.Exchange {
    const exchange = new LiveExchange(request, listener, this.#deadlines);
    exchange.begin(request, this.#transport);
    return exchange;
  }

  async close(): Promise<void> {
    this.#transport.close();
  }
}

/** A request that is kept until the server responds. */
interface Resend {
  readonly request: client.HttpRequest;
  readonly transport: client.HttpTransport;
}

/** What the exchange waits for. While the listener pauses it, only the total time limit applies. */
type Stage = 'connection' | 'head' | 'body' | 'listener' | 'nothing';

class LiveExchange implements client.Exchange, client.TransportUser, HasDeadline {
  index = 0;
  deadline: number;
  readonly #timeouts: client.RequestTimeouts;
  readonly #keepsEncoding: boolean;
  readonly #listener: client.ResponseListener;
  readonly #deadlines: Deadlines;
  readonly #totalDeadline: number;
  #stage: Stage = 'connection';
  #isAborted = false;
  #openedAt = 0;
  #resend: Resend | undefined;
  #connection: client.TransportConnection | undefined;
  /** Between the connection and the listener when the body is compressed. It may outlive the connection. */
  #decoder: ContentDecoder | undefined;

  constructor({ timeouts, encoding }: client.HttpRequest, listener: client.ResponseListener, deadlines: Deadlines) {
    this.#timeouts = timeouts;
    this.#keepsEncoding = encoding === 'keep';
    this.#listener = listener;
    this.#deadlines = deadlines;
    this.#totalDeadline = deadlines.now() + timeouts.total;
    this.deadline = this.#totalDeadline;
  }

  begin(request: client.HttpRequest, transport: client.HttpTransport): void {
    if (request.isResendable && isWhole(request.body)) this.#resend = { request, transport };
    try {
      this.#connection = transport.send(request, this);
      this.#deadlines.add(this);
    } catch (error) {
      this.#stage = 'nothing';
      this.#reportUnsent(error as Error);
    }
  }

  /** Once, because a new connection cannot be an idle one that the server closes. */
  #sendAgain({ request, transport }: Resend): void {
    this.#resend = undefined;
    this.#stage = 'connection';
    this.deadline = this.#totalDeadline;
    try {
      this.#connection = transport.send({ ...request, connection: 'new' }, this);
    } catch (error) {
      this.#finish();
      this.#reportUnsent(error as Error);
    }
  }

  #reportUnsent(error: Error): void {
    const isFull = error instanceof client.ConnectionError && error.code === 'TOO_MANY_CONNECTIONS';
    this.#reportError({ kind: isFull ? 'unreachable' : 'failed', code: errorCode(error) });
  }

  onOpen(): void {
    const now = this.#deadlines.now();
    const { firstByte, idle } = this.#timeouts;
    this.#stage = 'head';
    this.#openedAt = now;
    this.deadline = Math.min(this.#totalDeadline, now + firstByte);
    // Includes the idle limit, which applies next, so that a timely response needs no second timer.
    this.#deadlines.schedule(Math.min(this.deadline, now + idle));
  }

  onHead(status: number, headers: HttpHeaders): void {
    this.#resend = undefined;
    this.#awaitBody();
    const encoding = this.#keepsEncoding ? undefined : encodingOf(headers);
    if (encoding === undefined) return this.#listener.onHead(status, headers);
    if (!canDecode(encoding)) return this.#stop('CONTENT_ENCODING');
    this.#decoder = this.#openDecoder(encoding);
    this.#listener.onHead(status, withoutEncoding(headers));
  }

  #openDecoder(encoding: string): ContentDecoder {
    return new ContentDecoder(encoding, {
      onData: (chunk) => this.#listener.onData(chunk),
      onDrain: () => this.#resumeConnection(),
      onEnd: () => {
        // The compressed data may end before the body does.
        this.#finish()?.close();
        this.#listener.onEnd();
      },
      onError: (error) => this.#stop(errorCode(error)),
    });
  }

  /** Gives up on the response. */
  #stop(code: string, kind: client.TransportError['kind'] = 'failed'): void {
    this.#finish()?.close();
    this.#decoder?.close();
    this.#reportError({ kind, code });
  }

  onData(chunk: Buffer, isLast?: boolean): boolean {
    const wantsMore = this.#decoder ? this.#decoder.write(chunk) : this.#listener.onData(chunk, isLast);
    if (this.#stage !== 'body') return wantsMore;
    this.deadline = this.#totalDeadline;
    if (wantsMore) this.deadline = Math.min(this.deadline, this.#deadlines.now() + this.#timeouts.idle);
    else this.#stage = 'listener';
    return wantsMore;
  }

  onEnd(): void {
    this.#finish();
    if (this.#decoder) this.#decoder.end();
    else this.#listener.onEnd();
  }

  onError(error: Error, wasOpen: boolean, wasClosing = false): void {
    const resend =
      wasClosing && this.#deadlines.now() - this.#openedAt <= CLIENT_BOUNDS.closingMs.limit ? this.#resend : undefined;
    if (resend) return this.#sendAgain(resend);
    this.#finish();
    this.#decoder?.close();
    this.#reportError({ kind: wasOpen ? 'failed' : 'unreachable', code: errorCode(error) });
  }

  onDeadline(now: number): void {
    const stageCode = this.#stage === 'head' ? 'FIRST_BYTE_TIME' : 'IDLE_TIME';
    this.#stop(now >= this.#totalDeadline ? 'TOTAL_TIME' : stageCode, 'timeout');
  }

  resume(): void {
    if (this.#decoder) this.#decoder.resume();
    else this.#resumeConnection();
  }

  #resumeConnection(): void {
    if (this.#stage !== 'listener') return;
    this.#awaitBody();
    this.#connection?.resume();
  }

  abort(): void {
    this.#isAborted = true;
    this.#decoder?.close();
    this.#finish()?.close();
  }

  #awaitBody(): void {
    this.#stage = 'body';
    this.deadline = Math.min(this.#totalDeadline, this.#deadlines.now() + this.#timeouts.idle);
    this.#deadlines.schedule(this.deadline);
  }

  /** Ends the exchange and returns its connection, which may serve another exchange from now on. */
  #finish(): client.TransportConnection | undefined {
    if (this.#stage === 'nothing') return undefined;
    const connection = this.#connection;
    this.#stage = 'nothing';
    this.#connection = undefined;
    this.#deadlines.remove(this);
    return connection;
  }

  /** Asynchronous, because a request that cannot be written fails inside `send`, before the caller has the exchange. */
  #reportError(error: client.TransportError): void {
    queueMicrotask(() => {
      if (!this.#isAborted) this.#listener.onError(error);
    });
  }
}

/** A streamed body may have been read already. */
const isWhole = (body: client.RequestBytes): boolean =>
  body === null || typeof body === 'string' || Buffer.isBuffer(body);

function errorCode(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return typeof first === 'object' && first !== null && 'code' in first ? String(first.code) : error.name;
}
