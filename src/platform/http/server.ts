/** The interface of the HTTP server: what it reads and writes, and what the application implements. */
import type { Socket } from 'node:net';
import type { Clock } from '../../core/index.ts';
import type { HttpHeaders, HttpParseError } from './headers.ts';

export interface BodyReader {
  /** Returns false to pause the sender; `resume` continues. */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  /** The connection closed before the end of the body. */
  onAborted(): void;
}

export interface RequestLine {
  readonly method: string;
  /** Path and query as received, `*` for the server as a whole, or an invalid target. */
  readonly url: string;
  readonly version: '1.0' | '1.1';
}

/** A request: its head, and its body for a single reader. */
export interface IncomingRequest extends RequestLine {
  readonly headers: HttpHeaders;
  /** Flat name, value, name, value in the order received; names in lower case. */
  readonly rawHeaders: readonly string[];
  /** IP address of the client. */
  readonly address: string;
  /** True when the whole body has arrived. */
  readonly isComplete: boolean;
  /** The body when it has arrived completely and no reader is attached. */
  readonly completeBody: Buffer | undefined;
  /** Attaches the reader of the body. Call it at most once. */
  read(reader: BodyReader): void;
  resume(): void;
}

/** A response. Framing, `date`, `connection` and `keep-alive` are the server's. */
export interface OutgoingResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  /** The whole response is handed to the operating system. */
  readonly writableFinished: boolean;
  readonly destroyed: boolean;
  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void;
  flushHeaders(): void;
  /** Returns false when the client reads too slowly; `drain` follows. */
  write(chunk: Buffer | string): boolean;
  end(chunk?: Buffer | string): void;
  destroy(): void;
  /** Set before the head: the client may send the rest of a large body before it reads the response. */
  readsRest?: boolean;
  once(event: 'close' | 'drain', listener: () => void): void;
}

/** The connection of a request that asks for another protocol. */
export interface Upgradable {
  readonly socket: Socket;
  /** Ends HTTP on the connection and returns the bytes received after the request. */
  release(): Buffer;
}

/** Why the server rejects the bytes of a client before they form a request. */
export type ProtocolViolation = 'malformed' | 'headers_too_large' | 'too_slow' | 'too_many_connections';

/** The application. */
export interface ServerHost {
  readonly clock: Clock;
  /** Responses close their connections. */
  readonly isDraining: boolean;
  onRequest(request: IncomingRequest, response: OutgoingResponse, connection: Upgradable): void;
  /** A handler threw synchronously, which is a bug. */
  onInternalError(error: unknown): void;
  /** Returns the raw response for a message that cannot be parsed. */
  onViolation(violation: ProtocolViolation, error: HttpParseError): string;
  /** Connections were refused since the last call. */
  onRefused(count: number): void;
}

export interface ConnectionLimits {
  readonly total: number;
  readonly perAddress: number;
  /** True for addresses with many clients behind them. */
  isExempt(address: string): boolean;
}

export interface CloseOptions {
  /** Another process serves the port from now on: clients that have just connected here are served too. */
  readonly isHandover?: boolean;
  readonly interrupt?: () => void;
}

/** Key and certificate of the TLS listener, in PEM. */
export interface KeyPair {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** A certificate that may be renewed while the server runs. */
export interface ServerCertificate {
  readonly pair: KeyPair;
  onChange(listener: (pair: KeyPair) => void): void;
}
