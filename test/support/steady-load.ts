/** Clients that call a server one after the other until they are stopped, and what became of their calls. */
import { setTimeout as pause } from 'node:timers/promises';

const CLIENTS = 4;
const RETRIES = 2;
const RETRY_MS = 500;

/** Repeats a refused call as the official clients do. */
export class SteadyLoad {
  served = 0;
  /** Refused with 529: the money of the wallet could not be leased. */
  refused = 0;
  readonly #url: string;
  readonly #key: string;
  readonly #failures: string[] = [];
  readonly #clients: readonly Promise<void>[];
  #isOver = false;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
    this.#clients = Array.from({ length: CLIENTS }, () => this.#run());
  }

  async stop(): Promise<readonly string[]> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return this.#failures;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#call().catch((error: Error) => this.#failures.push(`${error.message} ${String(error.cause ?? '')}`));
      await pause(10);
    }
  }

  async #call(): Promise<void> {
    let response = await this.#send();
    for (let left = RETRIES; left > 0 && response.status === 529; left -= 1) {
      this.refused += 1;
      await response.text();
      await pause(RETRY_MS);
      response = await this.#send();
    }
    const body = await response.text();
    if (response.status === 200) this.served += 1;
    else this.#failures.push(`${response.status} ${body}`);
  }

  #send(): Promise<Response> {
    return fetch(`${this.#url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': this.#key, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-messages', max_tokens: 60, messages: [{ role: 'user', content: 'x' }] }),
    });
  }
}
