/** An incoming HTTP request: its head, and its body for a single reader. */
import { concatBuffers, type HttpHead, type HttpHeaders } from '../core/index.ts';

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

/** The parts of the connection that a request uses. */
export interface RequestConnection {
  /** IP address of the client. */
  readonly address: string;
  /** Asks for the body, or for more of it. */
  requestBody(): void;
}

/** Bytes to buffer before a reader is attached; beyond this the sender is paused. */
const MAX_BUFFERED_BYTES = 64 * 1024;
/** Replaces a finished reader. The reader holds the body, and the request lives as long as its response. */
const NO_READER: BodyReader = { onData: () => true, onEnd() {}, onAborted() {} };

export class IncomingRequest implements RequestLine {
  readonly method: string;
  readonly url: string;
  readonly version: RequestLine['version'];
  readonly headers: HttpHeaders;
  /** Flat name, value, name, value in the order received; names in lower case. */
  readonly rawHeaders: readonly string[];
  /** IP address of the client. */
  readonly address: string;
  /** True when the whole body has arrived. */
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

  /** Attaches the reader of the body. Call it at most once. */
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

  /** The body when it has arrived completely and no reader is attached, which is the common case. */
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
    return this.#bufferedBytes < MAX_BUFFERED_BYTES;
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
