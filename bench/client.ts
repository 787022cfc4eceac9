/** The client of the load generator: one raw keep-alive connection. */
import { connect, type Socket } from 'node:net';

const CRLF_CRLF = Buffer.from('\r\n\r\n');
/** The last chunk, with the line break of the chunk before it. */
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** Sends its request, as often as asked, and reports the end of the response. */
export class Client {
  readonly #port: number;
  #socket: Socket | undefined;
  #head: Buffer | undefined;
  #status = 0;
  /** Missing bytes of the body; undefined before the head is complete, infinite for chunked bodies. */
  #missing: number | undefined;
  #tail = '';
  onResponse: (status: number) => void = () => {};
  onFailure: (why: string) => void = () => {};
  /** The beginning of a failed response; with `keepsText`, the complete response. */
  text = '';
  keepsText = false;
  startedAt = 0;
  hasBegun = false;
  request: Buffer;

  constructor(port: number, request: Buffer) {
    this.#port = port;
    this.request = request;
  }

  send(): void {
    this.#head = undefined;
    this.#missing = undefined;
    this.#tail = '';
    this.text = '';
    this.startedAt = performance.now();
    this.#socket ??= this.#connect();
    this.#socket.write(this.request);
  }

  close(): void {
    this.#socket?.removeAllListeners('close');
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.on('data', (bytes: Buffer) => this.#onData(bytes));
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#socket = undefined;
      this.onFailure('the connection was closed');
    });
    return socket;
  }

  #onData(bytes: Buffer): void {
    this.hasBegun = true;
    if (this.keepsText) this.text += bytes.toString('latin1');
    const body = this.#missing === undefined ? this.#readHead(bytes) : bytes;
    if (!body || this.#missing === undefined) return;
    if (this.#missing !== Number.POSITIVE_INFINITY) {
      this.#missing -= body.length;
      if (this.#missing <= 0) this.onResponse(this.#status);
      return;
    }
    this.#tail = (this.#tail + body.toString('latin1', Math.max(0, body.length - LAST_CHUNK.length))).slice(
      -LAST_CHUNK.length,
    );
    if (this.#tail === LAST_CHUNK) this.onResponse(this.#status);
  }

  /** Returns the body bytes after the head, once the head is complete. */
  #readHead(bytes: Buffer): Buffer | undefined {
    const all = this.#head ? Buffer.concat([this.#head, bytes]) : bytes;
    const end = all.indexOf(CRLF_CRLF);
    if (end < 0) {
      this.#head = all;
      return undefined;
    }
    const head = all.toString('latin1', 0, end);
    this.#status = Number(head.slice(9, 12));
    if (this.#status !== 200) this.text ||= all.toString('latin1').slice(0, 400);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#missing = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
    return all.subarray(end + CRLF_CRLF.length);
  }
}
