/**
 * The stream of an image call before the provider responds. A picture takes minutes, and proxies close a connection that is silent for
 * about one: after the time of a heartbeat the client gets its response head and comments. From then on a failure is an `error` event.
 */
import { ApiError, SSE_COMMENT } from '../../../core/index.ts';
import {
  type Call,
  type ClientStream,
  type ClientStreams,
  idHeaders,
  STREAM_HEADERS,
} from '../../../platform/web/index.ts';
import { imageErrorEvent } from '../stream-error.ts';

export class EarlyStream {
  readonly #call: Call;
  readonly #streams: ClientStreams;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #cancel: () => void;
  #stream: ClientStream | undefined;
  #onDrain: () => void = () => {};
  #isTaken = false;

  /** `headers` are those of the response beside the usual ones of a stream. */
  constructor(streams: ClientStreams, call: Call, headers: Readonly<Record<string, string>>) {
    this.#call = call;
    this.#streams = streams;
    this.#headers = headers;
    this.#cancel = streams.afterSilence(() => this.#open());
    call.onClose(this.#cancel);
    call.onInterrupted(() => {
      if (!this.#isTaken)
        this.#stream?.end(imageErrorEvent('shutting_down', 'The server is restarting; send the request again.'));
    });
  }

  /** The provider responds with a stream: returns the one that is open already, if any. */
  take(onDrain: () => void): ClientStream | undefined {
    this.#cancel();
    this.#isTaken = true;
    this.#onDrain = onDrain;
    return this.#stream;
  }

  /** Ends an open stream with the error, and returns true; before it opened, the error keeps its status. */
  fail(error: unknown): boolean {
    this.#cancel();
    if (!this.#stream || !(error instanceof ApiError)) return false;
    const { code, message, details } = error;
    this.#stream.end(imageErrorEvent(code, message, details.param));
    return true;
  }

  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  #open(): void {
    const { response } = this.#call;
    if (this.#isTaken || response.headersSent) return;
    response.writeHead(200, { ...idHeaders(this.#call), ...STREAM_HEADERS, ...this.#headers });
    response.flushHeaders();
    this.#stream = this.#streams.open(this.#call, {
      heartbeat: () => SSE_COMMENT,
      onDrain: () => this.#onDrain(),
      onStalled: () => response.destroy(),
    });
    this.#stream.write(SSE_COMMENT);
  }
}
