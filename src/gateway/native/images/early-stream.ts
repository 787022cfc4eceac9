/**
 * The stream of an image call before the provider responds:
 * a picture takes minutes, and proxies close a connection that is silent for one.
 */
import { ApiError, SSE_COMMENT } from '../../../core/index.ts';
import * as web from '../../../platform/web/index.ts';
import { imageErrorEvent } from '../stream-error.ts';

export class EarlyStream {
  readonly #call: web.Call;
  readonly #streams: web.ClientStreams;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #cancel: () => void;
  #stream: web.ClientStream | undefined;
  #onDrain: () => void = () => {};
  #isTaken = false;

  constructor(streams: web.ClientStreams, call: web.Call, headers: Readonly<Record<string, string>>) {
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
  take(onDrain: () => void): web.ClientStream | undefined {
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
    response.writeHead(200, { ...web.idHeaders(this.#call), ...web.STREAM_HEADERS, ...this.#headers });
    response.flushHeaders();
    const onDrain = (): void => this.#onDrain();
    this.#stream = this.#streams.open(this.#call, { heartbeat: () => SSE_COMMENT, onDrain });
    this.#stream.write(SSE_COMMENT);
  }
}
