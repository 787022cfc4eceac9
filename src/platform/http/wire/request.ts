/** A request of the server connection: its head, and its body for a single reader. */
import { concatBuffers } from '../../../core/index.ts';
import { SERVER_BOUNDS } from '../bounds.ts';
import type { HttpHeaders } from '../headers.ts';
import type { BodyReader, IncomingRequest, RequestLine } from '../server.ts';
import type { HttpHead } from './head.ts';

/** The parts of the connection that a request uses. */
export interface RequestConnection {
  /** IP address of the client. */
  readonly address: string;
  /** Asks for the body, or for more of it. */
  requestBody(): void;
}

/** Replaces a finished reader. The reader holds the body, and the request lives as long as its response. */
const NO_READER: BodyReader = { onData: () => true, onEnd() {}, onAborted() {} };

export class WireRequest implements IncomingRequest {
  readonly method: string;
  readonly url: string;
  readonly version: RequestLine['version'];
  readonly headers: HttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly address: string;
  isComplete = false;
  readonly #connection: RequestConnection;
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #reader: BodyReader | undefined;
  #isAborted = false;

  constructor(line: RequestLine, head: HttpHead, connection: RequestConnection) {
    this.method = line.method;
    this.url = line.url;
    this.version = line.version;
    this.headers = head.headers;
    this.rawHeaders = head.rawHeaders;
    this.address = connection.address;
    this.#connection = connection;
  }

  read(reader: BodyReader): void {
    this.#reader = reader;
    const buffered = this.#buffered;
    this.#buffered = [];
    this.#bufferedBytes = 0;
    for (const chunk of buffered) reader.onData(chunk);
    if (this.isComplete) this.#detachReader()?.onEnd();
    else if (this.#isAborted) this.#detachReader()?.onAborted();
    else this.#connection.requestBody();
  }

  resume(): void {
    this.#connection.requestBody();
  }

  /** The common case. */
  get completeBody(): Buffer | undefined {
    if (!this.isComplete || this.#reader) return undefined;
    return concatBuffers(this.#buffered);
  }

  // ---------------------------------------------------------------- called by the connection

  /** Returns false to pause the sender. */
  push(chunk: Buffer): boolean {
    if (this.#reader) return this.#reader.onData(chunk);
    this.#buffered.push(chunk);
    this.#bufferedBytes += chunk.length;
    return this.#bufferedBytes < SERVER_BOUNDS.unreadBytes.limit;
  }

  end(): void {
    this.isComplete = true;
    this.#detachReader()?.onEnd();
  }

  abort(): void {
    if (this.isComplete || this.#isAborted) return;
    this.#isAborted = true;
    this.#detachReader()?.onAborted();
  }

  #detachReader(): BodyReader | undefined {
    const reader = this.#reader;
    if (reader) this.#reader = NO_READER;
    return reader;
  }
}
