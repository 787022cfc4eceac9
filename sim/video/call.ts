/** One HTTP call to the video provider: its request, and the delivery of its response with faults. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../json.ts';
import { defaultMessage, type FailureForm, GENERATION_FAILURES, VideoFailure } from './errors.ts';
import { parseBody, type VideoEntry, type VideoJournal, type VideoOutcome } from './journal.ts';
import type { Reply } from './reply.ts';
import type { CallFault } from './triggers.ts';

const LARGEST_BODY = 64 << 20;
const DRIP_BYTES = 1024;
// Lets the first half arrive before the reset discards unsent data.
const RESET_DELAY_MS = 20;
const HTML_PAGE =
  '<!doctype html><html><head><title>Gateway</title></head><body><h1>Simulated proxy page</h1></body></html>';

export class VideoCall {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly entry: VideoEntry;
  readonly requestId: string;
  body: Buffer = Buffer.alloc(0);
  failures: FailureForm = GENERATION_FAILURES;
  #parsed: JsonObject | undefined;
  readonly #response: ServerResponse;
  readonly #journal: VideoJournal;
  readonly #clientGone = new AbortController();

  constructor(request: IncomingMessage, response: ServerResponse, journal: VideoJournal, requestId: string) {
    const [path = '/', query = ''] = (request.url ?? '/').split(/\?(.*)/s, 2);
    this.request = request;
    this.path = path;
    this.query = new URLSearchParams(query);
    this.headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    this.requestId = requestId;
    this.entry = journal.open({ method: request.method ?? 'GET', path, query, headers: this.headers });
    this.#response = response;
    this.#journal = journal;
    response.on('close', () => this.#onClose());
    response.on('error', () => {});
  }

  get method(): string {
    return this.entry.method;
  }

  get pathAndQuery(): string {
    return this.request.url ?? '/';
  }

  /** False if the client disconnected before the body was complete. */
  async readBody(): Promise<boolean> {
    const chunks: Buffer[] = [];
    let length = 0;
    try {
      for await (const chunk of this.request) {
        // Excess bytes are read and discarded, so that the client can finish sending and read the response.
        if (length <= LARGEST_BODY) chunks.push(chunk);
        length += chunk.length;
      }
    } catch {
      return false;
    }
    this.body = Buffer.concat(chunks);
    this.#parsed = parseBody(this.body);
    this.#journal.keepBody(this.entry, this.body);
    return true;
  }

  /** The JSON object in the body; undefined if there is none. */
  get parsed(): JsonObject | undefined {
    return this.#parsed;
  }

  get json(): JsonObject {
    if (this.body.length > LARGEST_BODY) {
      throw new VideoFailure('RequestEntityTooLarge', 'The request body is larger than 64 MB.');
    }
    if (!this.#parsed) throw new VideoFailure('InvalidParameter', 'The request body is not a JSON object.');
    return this.#parsed;
  }

  /** Sends `reply`, or what the fault makes of it. Without a reply the fault alone decides. */
  async deliver(reply: Reply | undefined, fault: CallFault = {}): Promise<void> {
    if (fault.delayMs) await this.#pause(fault.delayMs);
    if (fault.kind === 'hang') return this.#hang();
    if (fault.kind === 'reset') return this.#reset('reset');
    const sent = this.#faultReply(fault) ?? reply ?? this.#failureReply(new VideoFailure('InternalServiceError'));
    await this.#send(fault.kind === 'truncated' ? { ...sent, body: half(sent.body) } : sent, fault);
  }

  async fail(failure: VideoFailure): Promise<void> {
    await this.deliver(this.#failureReply(failure));
  }

  /** The response that a fault asks for; undefined if it only delays or damages the ordinary one. */
  #faultReply({ kind, status, code, item }: CallFault): Reply | undefined {
    if (kind === 'html') return { status: status ?? 200, headers: { 'content-type': 'text/html' }, body: HTML_PAGE };
    if (status === undefined && code === undefined) return undefined;
    const param = item === undefined ? '' : `content[${item}]`;
    const shown = code ?? this.failures.codeOf(status ?? 500);
    const message = defaultMessage(shown, param);
    return this.#failureReply(new VideoFailure(shown, message, { ...(status !== undefined && { status }), param }));
  }

  #failureReply(failure: VideoFailure): Reply {
    return this.failures.reply(failure, this.requestId);
  }

  async #send({ status, code, headers, body }: Reply, { kind, dripMs }: CallFault): Promise<void> {
    if (this.#clientGone.signal.aborted) return;
    this.entry.status = status;
    if (code !== undefined) this.entry.code = code;
    const length = String(Buffer.byteLength(body));
    this.#response.writeHead(status, { ...headers, 'content-length': length, 'x-request-id': this.requestId });
    if (kind === 'reset_mid' || kind === 'eof_mid') {
      this.#response.write(half(body));
      await this.#pause(RESET_DELAY_MS);
      return kind === 'reset_mid' ? this.#reset('cut') : this.#close();
    }
    if (dripMs !== undefined) await this.#drip(Buffer.from(body), dripMs);
    else this.#response.end(body);
  }

  /** Ends the response with its last bytes: a client that has them all is free to open its next connection. */
  async #drip(body: Buffer, gapMs: number): Promise<void> {
    let at = 0;
    for (; at + DRIP_BYTES < body.length && !this.#clientGone.signal.aborted; at += DRIP_BYTES) {
      this.#response.write(body.subarray(at, at + DRIP_BYTES));
      await this.#pause(gapMs);
    }
    this.#response.end(body.subarray(at));
  }

  async #hang(): Promise<void> {
    this.#settle('hung');
    if (this.#clientGone.signal.aborted) return;
    await new Promise((resolve) => this.#clientGone.signal.addEventListener('abort', resolve, { once: true }));
  }

  #reset(outcome: VideoOutcome): void {
    this.#settle(outcome);
    this.request.socket.resetAndDestroy();
  }

  #close(): void {
    this.#settle('cut');
    this.request.socket.destroySoon();
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#clientGone.signal }).catch(() => {});
  }

  #onClose(): void {
    this.#clientGone.abort();
    this.#settle(this.#response.writableFinished ? 'sent' : 'aborted');
  }

  /** The first outcome stays: a reset also closes the response. */
  #settle(outcome: VideoOutcome): void {
    if (this.entry.outcome === 'open') this.entry.outcome = outcome;
    this.#journal.changed();
  }
}

const half = (body: string | Buffer): Buffer => {
  const bytes = Buffer.from(body);
  return bytes.subarray(0, Math.ceil(bytes.length / 2));
};
