/**
 * A stream of Bedrock as server-sent events of the Messages API, or of Converse.
 * The JSON of each event keeps its bytes.
 */
import { EVENT_STREAM } from '../../../core/index.ts';
import type { Exchange, HttpHeaders, ResponseListener, TransportError } from '../../../platform/http/index.ts';
import { messagesStatus } from './bedrock-errors.ts';
import { type EventFrame, EventStreamReader, FrameError } from './event-stream.ts';
import { type CloudError, messagesError } from './messages-errors.ts';
import { parseObject } from './token-request.ts';

const AWS_STREAM = 'application/vnd.amazon.eventstream';

export class BedrockStream implements ResponseListener {
  upstream: Exchange | undefined;
  readonly #listener: ResponseListener;
  #reader: EventStreamReader | undefined;
  readonly #eventOf: EventForm;
  /** Until the first frame: a stream that begins with an exception is a failed request, though its status is 200. */
  #head: { readonly status: number; readonly headers: HttpHeaders } | undefined;
  #isOver = false;

  constructor(listener: ResponseListener, eventOf: EventForm) {
    this.#listener = listener;
    this.#eventOf = eventOf;
  }

  onHead(status: number, headers: HttpHeaders): void {
    if (!headers['content-type']?.startsWith(AWS_STREAM)) return this.#listener.onHead(status, headers);
    this.#reader = new EventStreamReader();
    const { 'content-length': _length, ...rest } = headers;
    this.#head = { status, headers: rest };
  }

  onData(chunk: Buffer): boolean {
    if (!this.#reader) return this.#listener.onData(chunk);
    if (this.#isOver) return true;
    const events: Buffer[] = [];
    const damage = this.#read(chunk, events);
    if (this.#isOver) return true;
    const wantsMore = events.length === 0 || this.#listener.onData(Buffer.concat(events));
    if (damage !== undefined) this.#fail(damage);
    return wantsMore;
  }

  /** Frames before a damaged one count. Returns what is wrong with that. */
  #read(chunk: Buffer, events: Buffer[]): string | undefined {
    try {
      for (const frame of this.#reader?.push(chunk) ?? []) {
        const failure = frame.headers[':message-type'] === 'event' ? undefined : failureOf(frame);
        if (failure && this.#head) {
          this.#reject(failure);
          return undefined;
        }
        this.#begin();
        const event = failure ? sseBlock('error', bodyOf(failure)) : this.#eventOf(frame);
        if (event) events.push(event);
      }
      return undefined;
    } catch (error) {
      if (error instanceof FrameError) return error.code;
      throw error;
    }
  }

  onEnd(): void {
    if (this.#isOver) return;
    if (this.#reader?.isInside) return this.#fail('FRAME_LENGTH');
    this.#begin();
    this.#listener.onEnd();
  }

  onError(error: TransportError): void {
    if (!this.#isOver) this.#listener.onError(error);
  }

  #begin(): void {
    if (this.#head) this.#listener.onHead(this.#head.status, { ...this.#head.headers, 'content-type': EVENT_STREAM });
    this.#head = undefined;
  }

  #reject(failure: CloudError): void {
    this.#isOver = true;
    this.upstream?.abort();
    this.#listener.onHead(failure.status, { ...this.#head?.headers, 'content-type': 'application/json' });
    this.#listener.onData(bodyOf(failure));
    this.#listener.onEnd();
  }

  #fail(code: string): void {
    this.#isOver = true;
    this.upstream?.abort();
    this.#listener.onError({ kind: 'failed', code });
  }
}

/** Undefined for frames that carry nothing, such as the one that begins a response. */
export type EventForm = (frame: EventFrame) => Buffer | undefined;

/** Frames of InvokeModel carry the events of the provider. */
export const messagesEvent: EventForm = ({ payload }) => {
  const { bytes } = parseObject(payload.toString('utf8')) ?? {};
  if (typeof bytes !== 'string') return undefined;
  const json = Buffer.from(bytes, 'base64');
  return sseBlock(typeOf(json), json);
};

/** Frames of Converse are the events, with their type beside them. */
export const converseEvent: EventForm = ({ headers, payload }) => {
  const type = headers[':event-type'] ?? '';
  return /^[A-Za-z]+$/.test(type) ? sseBlock(type, payload) : undefined;
};

const sseBlock = (type: string, json: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`event: ${type}\ndata: `), json, BLOCK_END]);
const BLOCK_END = Buffer.from('\n\n');
const TYPE_FIRST = /^\{\s*"type"\s*:\s*"(\w+)"/;

function typeOf(json: Buffer): string {
  const first = TYPE_FIRST.exec(json.toString('latin1', 0, 64))?.[1];
  return first ?? String(parseObject(json.toString('utf8'))?.type ?? 'message');
}

function failureOf({ headers, payload }: EventFrame): CloudError {
  const { message } = parseObject(payload.toString('utf8')) ?? {};
  const name = headers[':exception-type'] ?? headers[':error-code'] ?? '';
  const text = typeof message === 'string' ? message : (headers[':error-message'] ?? 'The stream failed.');
  return { status: messagesStatus(name, text, 500), message: text };
}

const bodyOf = (failure: CloudError): Buffer => Buffer.from(JSON.stringify(messagesError(failure)));
