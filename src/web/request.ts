/** One request as it came over a connection: its head, and its body for one reader. */
import { concatBuffers, type HttpHead, type HttpHeaders } from '../core/index.ts';

export interface BodyReader {
  /** False asks for a pause; `resume` ends it. */
  onData(chunk: Buffer): boolean;
  onEnd(): void;
  /** The connection closed before the body was whole. */
  onCut(): void;
}

export interface RequestLine {
  readonly method: string;
  /** As it was written: a path and a query. */
  readonly url: string;
  readonly version: '1.0' | '1.1';
}

/** The connection, as a request sees it. */
export interface RequestConnection {
  /** Of its other end. */
  readonly address: string;
  /** Somebody reads the body, or reads on. */
  requestBody(): void;
}

/** So much of a body is kept for a reader that is still to come; then the sender waits. */
const HELD_BYTES = 64 * 1024;
/** Stands in for a reader that is done: it holds the pieces of the body, and the request lives as long as its answer. */
const NOBODY: BodyReader = { onData: () => true, onEnd() {}, onCut() {} };

export class IncomingRequest implements RequestLine {
  readonly method: string;
  readonly url: string;
  readonly version: RequestLine['version'];
  readonly headers: HttpHeaders;
  /** Name, value, name, value as they came, names in lower case. */
  readonly rawHeaders: readonly string[];
  /** Of the other end of the connection. */
  readonly address: string;
  /** The whole body has come. */
  isComplete = false;
  readonly #sender: RequestConnection;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #reader: BodyReader | undefined;
  #isCut = false;

  constructor(line: RequestLine, head: HttpHead, sender: RequestConnection) {
    this.method = line.method;
    this.url = line.url;
    this.version = line.version;
    this.headers = head.headers;
    this.rawHeaders = head.fields;
    this.address = sender.address;
    this.#sender = sender;
  }

  /** Once; whoever comes first has the body. */
  read(reader: BodyReader): void {
    this.#reader = reader;
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const chunk of held) reader.onData(chunk);
    if (this.isComplete) this.#letGo()?.onEnd();
    else if (this.#isCut) this.#letGo()?.onCut();
    else this.#sender.requestBody();
  }

  resume(): void {
    this.#sender.requestBody();
  }

  /** The body, when all of it is here and nobody has read it: most have come before anybody asks. */
  get completeBody(): Buffer | undefined {
    if (!this.isComplete || this.#reader) return undefined;
    return concatBuffers(this.#held);
  }

  // ---------------------------------------------------------------- told by the connection

  /** False when it is enough for now. */
  push(chunk: Buffer): boolean {
    if (this.#reader) return this.#reader.onData(chunk);
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return this.#heldBytes < HELD_BYTES;
  }

  end(): void {
    this.isComplete = true;
    this.#letGo()?.onEnd();
  }

  cut(): void {
    if (this.isComplete || this.#isCut) return;
    this.#isCut = true;
    this.#letGo()?.onCut();
  }

  #letGo(): BodyReader | undefined {
    const reader = this.#reader;
    if (reader) this.#reader = NOBODY;
    return reader;
  }
}
