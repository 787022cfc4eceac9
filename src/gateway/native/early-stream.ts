/**
 * The stream that a client has before its reply begins: the head and heartbeats. Until a reply begins, another account may still serve it. A
 * picture takes minutes, and proxies close a connection that is silent for one.
 */
import { ApiError, fail } from '../../core/index.ts';
import * as web from '../../platform/web/index.ts';

export interface EarlyStreamForm {
  readonly headers: Readonly<Record<string, string>>;
  readonly heartbeat: () => string;
  readonly errorEvent: (error: ApiError) => string;
}

const SHUTTING_DOWN = fail('shutting_down', 'The server is restarting; send the request again.');

export class EarlyStream {
  readonly #call: web.Call;
  readonly #streams: web.ClientStreams;
  readonly #form: EarlyStreamForm;
  #cancel: () => void = () => {};
  #stream: web.ClientStream | undefined;
  #onDrain: () => void = () => {};
  #isTaken = false;

  constructor(streams: web.ClientStreams, call: web.Call, form: EarlyStreamForm) {
    this.#call = call;
    this.#streams = streams;
    this.#form = form;
  }

  /** Opens it after a silence, whether or not a provider has responded. */
  openAfterSilence(): this {
    this.#cancel = this.#streams.afterSilence(() => this.open());
    this.#call.onClose(this.#cancel);
    return this;
  }

  /** The reply begins: returns the stream that is open already, if any. */
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
    this.#stream.end(this.#form.errorEvent(error));
    return true;
  }

  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  /** For a client that waits: its head, later heartbeats. False once the reply has begun. */
  keepAlive(): boolean {
    if (this.#isTaken) return false;
    if (this.#stream) this.#stream.write(this.#form.heartbeat());
    else this.open();
    return this.isOpen;
  }

  open(): void {
    const { response } = this.#call;
    if (this.#isTaken || response.headersSent) return;
    const { headers, heartbeat, errorEvent } = this.#form;
    response.writeHead(200, { ...web.idHeaders(this.#call), ...web.STREAM_HEADERS, ...headers });
    response.flushHeaders();
    this.#call.onInterrupted(() => {
      if (!this.#isTaken) this.#stream?.end(errorEvent(SHUTTING_DOWN));
    });
    this.#stream = this.#streams.open(this.#call, { heartbeat, onDrain: () => this.#onDrain() });
    this.#stream.write(heartbeat());
  }
}
