/**
 * The load generator, a separate process so that its CPU time is not measured: raw keep-alive sockets that send the same bytes
 * again as soon as a response is complete, or at a fixed rate (open-loop.ts). After the given time it sends nothing new and waits
 * for open responses, so that all started work is counted. Receives orders and sends reports over the IPC channel.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from './client.ts';
import { type OpenLoopOrder, runOpenLoop } from './open-loop.ts';
import { quantile } from './quantile.ts';

export interface LoadOrder {
  readonly port: number;
  /** Head and body. */
  readonly request: string;
  readonly connections: number;
  readonly ms: number;
  /** Ends earlier after this many requests. */
  readonly maxRequests?: number | undefined;
  /** A ramp-up: its connections stay open for the next order, so that no handshake is measured. */
  readonly isLead: boolean;
}

export interface LoadReport {
  readonly requests: number;
  readonly failures: number;
  /** The beginning of the first response that was not 200, or the reason why there was none. */
  readonly failure?: string | undefined;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
}

/** Opens streams and keeps them open; `open` counts the streams with a first byte. */
export interface HoldOrder {
  readonly hold: number;
  readonly port: number;
  readonly request: string;
}
export interface HoldReport {
  readonly open: number;
}

/** One request; reports the complete response as text. */
export interface ProbeOrder {
  readonly probe: true;
  readonly port: number;
  readonly request: string;
}
export interface ProbeReport {
  readonly status: number;
  readonly text: string;
}

export type Order = LoadOrder | OpenLoopOrder | HoldOrder | ProbeOrder | { readonly release: true };

/** A response that is still incomplete this long after the end counts as failed. */
const DRAIN_MS = 20_000;
const HOLD_MS = 15_000;

/** Connections left open by a ramp-up. */
let waiting: Client[] = [];

function run({
  port,
  request,
  connections,
  ms,
  maxRequests = Number.POSITIVE_INFINITY,
  isLead,
}: LoadOrder): Promise<LoadReport> {
  const { promise, resolve } = Promise.withResolvers<LoadReport>();
  const bytes = Buffer.from(request);
  const clients = waiting.length > 0 ? waiting : Array.from({ length: connections }, () => new Client(port, bytes));
  waiting = isLead ? clients : [];
  const times: number[] = [];
  let failures = 0;
  let failure: string | undefined;
  let open = connections;
  let sent = connections;
  const start = performance.now();
  const finish = (): void => {
    clearTimeout(timer);
    if (!isLead) for (const client of clients) client.close();
    times.sort((a, b) => a - b);
    const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
    resolve({ requests: times.length, failures, failure, seconds: (performance.now() - start) / 1000, p50, p99 });
  };
  const sendNext = (client: Client): void => {
    if (performance.now() - start < ms && sent < maxRequests) {
      sent += 1;
      return client.send();
    }
    open -= 1;
    if (open === 0) finish();
  };
  const fail = (why: string): void => {
    failures += 1;
    failure ??= why;
  };
  const timer = setTimeout(() => {
    for (; open > 0; open -= 1) fail(`no response within ${DRAIN_MS / 1000} s`);
    finish();
  }, ms + DRAIN_MS);
  for (const client of clients) {
    client.onResponse = (status) => {
      if (status === 200) times.push(performance.now() - client.startedAt);
      else fail(client.text);
      sendNext(client);
    };
    client.onFailure = (why) => {
      fail(why);
      // Delayed, so that a target that refuses connections is not retried in a tight loop.
      setTimeout(sendNext, 50, client);
    };
    client.send();
  }
  return promise;
}

function probe({ port, request }: ProbeOrder): Promise<ProbeReport> {
  const { promise, resolve } = Promise.withResolvers<ProbeReport>();
  const done = (status: number, text: string): void => {
    clearTimeout(timer);
    client.close();
    resolve({ status, text });
  };
  const client = new Client(port, Buffer.from(request));
  client.onResponse = (status) => done(status, client.text);
  client.onFailure = (why) => done(0, why);
  const timer = setTimeout(() => done(0, `incomplete response: ${client.text.slice(-200)}`), DRAIN_MS);
  client.keepsText = true;
  client.send();
  return promise;
}

let held: Client[] = [];

/** Opens connections in small groups, because a burst of a thousand handshakes is another test. */
async function hold({ port, request, hold: count }: HoldOrder): Promise<HoldReport> {
  const bytes = Buffer.from(request);
  for (let n = 0; n < count; n += 1) {
    const client = new Client(port, bytes);
    client.send();
    held.push(client);
    if (n % 20 === 19) await pause(10);
  }
  const begun = (): number => held.filter((client) => client.hasBegun).length;
  for (const until = performance.now() + HOLD_MS; begun() < count && performance.now() < until; ) await pause(50);
  return { open: begun() };
}

function release(): HoldReport {
  for (const client of held) client.close();
  held = [];
  return { open: 0 };
}

process.on('message', async (order: Order) => {
  if ('release' in order) process.send?.(release());
  else if ('hold' in order) process.send?.(await hold(order));
  else if ('probe' in order) process.send?.(await probe(order));
  else if ('rate' in order) process.send?.(await runOpenLoop(order));
  else process.send?.(await run(order));
});
process.on('disconnect', () => process.exit());
