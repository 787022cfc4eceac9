/**
 * The open loop of the load generator: requests leave at a fixed rate, whether or not responses have arrived. Halfway between two
 * requests to the target, the same request goes to the upstream itself. So the latency that the target adds is measured against calls of
 * the same seconds.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from './client.ts';
import { quantile } from './quantile.ts';

export interface Destination {
  readonly port: number;
  /** Head and body. */
  readonly request: string;
}

export interface OpenLoopOrder {
  /** Requests per second to the target, and as many to the upstream. */
  readonly rate: number;
  readonly target: Destination;
  readonly upstream: Destination;
  readonly ms: number;
}

export interface OpenLoopReport {
  readonly requests: number;
  readonly failures: number;
  readonly failure?: string | undefined;
  /** Until the last response. */
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
  /** Of the calls to the upstream itself. */
  readonly upstreamP50: number;
  readonly upstreamP99: number;
}

/** A target that is slower than the rate: further requests fail at once instead of piling up. */
const MAX_OPEN = 512;
const DRAIN_MS = 10_000;

export async function runOpenLoop({ rate, target, upstream, ms }: OpenLoopOrder): Promise<OpenLoopReport> {
  const sides = [new Side(target), new Side(upstream)] as const;
  const start = performance.now();
  const intervalMs = 1_000 / rate / sides.length;
  for (let n = 0; n * intervalMs < ms; n += 1) {
    const waitMs = start + n * intervalMs - performance.now();
    if (waitMs > 0) await pause(waitMs);
    sides[n % sides.length]?.send();
  }
  await Promise.all(sides.map((side) => side.drain()));
  const [own, direct] = sides.map((side) => side.times.toSorted((a, b) => a - b));
  return {
    requests: sides[0].times.length,
    failures: sides[0].failures,
    failure: sides[0].failure,
    seconds: (performance.now() - start) / 1_000,
    p50: quantile(own ?? [], 0.5),
    p99: quantile(own ?? [], 0.99),
    upstreamP50: quantile(direct ?? [], 0.5),
    upstreamP99: quantile(direct ?? [], 0.99),
  };
}

/** The connections to one destination: each request takes one that is idle, or a new one. */
class Side {
  readonly times: number[] = [];
  failures = 0;
  failure: string | undefined;
  readonly #port: number;
  readonly #request: Buffer;
  readonly #idle: Client[] = [];
  readonly #open = new Set<Client>();
  #onIdle: () => void = () => {};

  constructor({ port, request }: Destination) {
    this.#port = port;
    this.#request = Buffer.from(request);
  }

  send(): void {
    if (this.#open.size >= MAX_OPEN) return this.#fail(`more than ${MAX_OPEN} requests are open`);
    const client = this.#idle.pop() ?? this.#connect();
    this.#open.add(client);
    client.send();
  }

  /** Waits for open responses; those that do not arrive count as failed. */
  async drain(): Promise<void> {
    if (this.#open.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle = resolve;
      const timer = setTimeout(resolve, DRAIN_MS);
      await promise;
      clearTimeout(timer);
    }
    for (const client of this.#open) {
      this.#fail(`no response within ${DRAIN_MS / 1_000} s`);
      client.close();
    }
    for (const client of this.#idle) client.close();
  }

  #connect(): Client {
    const client = new Client(this.#port, this.#request);
    client.onResponse = (status) => {
      if (status === 200) this.times.push(performance.now() - client.startedAt);
      else this.#fail(client.text);
      this.#idle.push(client);
      this.#end(client);
    };
    client.onFailure = (why) => {
      // The target may close an idle connection; the next request opens another.
      const at = this.#idle.indexOf(client);
      if (at >= 0) return void this.#idle.splice(at, 1);
      this.#fail(why);
      this.#end(client);
    };
    return client;
  }

  #end(client: Client): void {
    this.#open.delete(client);
    if (this.#open.size === 0) this.#onIdle();
  }

  #fail(why: string): void {
    this.failures += 1;
    this.failure ??= why;
  }
}
