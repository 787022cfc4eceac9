/** The interface of the HTTP client: requests, the listeners of their responses, and the transport below them. */
import type { HttpHeaders } from './headers.ts';

/** What follows the head of a request. A streamed body is read only as fast as the server takes it. */
export type RequestBytes = Buffer | string | StreamedBody | null;

/** Time limits in milliseconds. */
export interface RequestTimeouts {
  /** To connect, TLS handshake included. */
  readonly connect: number;
  /** From the request to the head of the response. */
  readonly firstByte: number;
  /** Between two reads of the body. */
  readonly idle: number;
  readonly total: number;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly origin: string;
  readonly path: string;
  /** Flat name, value, name, value; names in lower case. */
  readonly headers: readonly string[];
  readonly body: RequestBytes;
  readonly timeouts: RequestTimeouts;
  /**
   * `new`: never an idle connection, which the server may be closing at this moment.
   * For requests whose outcome must be known: an error before the connection opens then means that nothing was sent.
   * `single`: the same, and it closes after the response.
   */
  readonly connection?: 'any' | 'new' | 'single';
  /**
   * May be sent a second time, on a new connection, when the server closes an idle connection just as the request
   * leaves on it: it was used before, and no byte of a response came.
   * The server has most likely not read the request, but that is not certain (RFC 9112 section 9.3.1),
   * so the caller must say that a second request does no harm. Not for streamed bodies.
   */
  readonly isResendable?: boolean;
  /** Connects only to one of these addresses, which the caller has checked, on a `single` connection. */
  readonly addresses?: readonly string[] | undefined;
  /** URL of the proxy to connect through. Not together with `addresses`: it is the proxy that reaches an address. */
  readonly proxy?: string | undefined;
  /** `keep`: a compressed body is handed on as it is, for files whose bytes are counted. Else it is decoded. */
  readonly encoding?: 'decode' | 'keep';
}

/** Exactly one of `onEnd` and `onError` comes last. After `abort` nothing more is called. */
export interface ResponseListener {
  onHead(status: number, headers: HttpHeaders): void;
  /**
   * The listener owns `chunk`. Returns false to pause the server;
   * `resume` continues. With `isLast`, `onEnd` follows in the same turn.
   */
  onData(chunk: Buffer, isLast?: boolean): boolean;
  onEnd(): void;
  onError(error: TransportError): void;
}

export interface TransportError {
  /** `unreachable`: no connection was established, so that nothing was sent. */
  readonly kind: 'unreachable' | 'failed' | 'timeout';
  /** Error code for the log. Never a message, which might quote request data. */
  readonly code: string;
}

export interface Exchange {
  resume(): void;
  abort(): void;
}

/** Sends requests and follows no redirects, resends none but `isResendable` ones, never logs. */
export interface HttpClient {
  send(request: HttpRequest, listener: ResponseListener): Exchange;
  /** Ends all exchanges with errors and closes all connections. */
  close(): Promise<void>;
}

/** One request on its way, as a transport reports it. Exactly one of `onEnd` and `onError` comes last. */
export interface TransportUser extends Omit<ResponseListener, 'onError'> {
  /** The connection is open, and the request is being sent. */
  onOpen(): void;
  /**
   * `wasOpen` is false when the connection was never established, so that no request was sent. `wasClosing`: the server
   * closed a connection that had served other requests, without a byte of a response to this one.
   */
  onError(error: Error, wasOpen: boolean, wasClosing?: boolean): void;
}

/** The connection of a request. */
export interface TransportConnection {
  resume(): void;
  /** Ends the exchange immediately, without notifying the user. */
  close(): void;
}

/** The way to send requests: time limits other than `connect`, and decoding, are not its task. */
export interface HttpTransport {
  /** Throws when the request cannot be written. */
  send(request: HttpRequest, user: TransportUser): TransportConnection;
  close(): void;
}

export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly code:
    | 'CONNECT_TIME'
    | 'OTHER_ADDRESS'
    | 'CLOSED_EARLY'
    | 'CLOSED'
    | 'REQUEST_BODY'
    | 'TOO_MANY_CONNECTIONS'
    | `PROXY_${string}`;

  constructor(code: ConnectionError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export const closedEarly = (): ConnectionError =>
  new ConnectionError('CLOSED_EARLY', 'connection closed before the end of the response');

export const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error('a non-error was thrown');

/** The server ended the connection, rather than this side. */
export const isClosedByServer = (error: Error): boolean =>
  'code' in error && ['CLOSED_EARLY', 'ECONNRESET', 'EPIPE'].includes(String(error.code));

/** A request body that is read while it is sent, and read again for another attempt. */
export interface StreamedBody {
  /** Exactly the number of bytes that `chunks` yields. */
  readonly length: number;
  chunks(): AsyncIterable<Buffer>;
}
