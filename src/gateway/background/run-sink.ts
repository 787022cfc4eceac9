/** The response of a call that no client waits for: its events go to a listener. */
import { ResponseSink } from '../../platform/web/index.ts';

export class RunSink extends ResponseSink {
  readonly closed: Promise<void>;
  readonly #onEvent: (json: string) => void;

  constructor(onEvent: (json: string) => void) {
    super();
    this.#onEvent = onEvent;
    this.closed = new Promise((resolve) => this.once('close', resolve));
  }

  writeEvent(json: string): boolean {
    this.#onEvent(json);
    return true;
  }
}
