/**
 * The load generator, a separate process so that its CPU time is not measured: raw sockets that send the same bytes
 * again as soon as a response is complete, or at a fixed rate. After the given time it sends nothing new and waits for
 * open responses, so that all started work is counted. Receives orders and sends reports over the IPC channel.
 */
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from './client.ts';
import { type LoadReport, Tally } from './tally.ts';

export interface Destination {
  readonly port: number;
  /** Head and body. */
  readonly request: string;
}

/** Each connection sends again as soon as it has a response. All connect at the same moment. */
export interface LoadOrder extends Destination {
  readonly connections: number;
  readonly ms: number;
  /** Ends earlier after this many requests. */
  readonly maxRequests?: number | undefined;
  /** A ramp-up: its connections stay open for the next order, so that no handshake is measured. */
  readonly isLead?: boolean;
  /** Every request has a connection of its own. */
  readonly isNew?: boolean;
  /** Between a response and the next request. */
  readonly pauseMs?: number;
}

/**
 * Requests leave at a fixed rate, whether or not responses have arrived; with several destinations in turn, so that
 * their calls are of the same seconds. Reports one result for each.
 */
export interface OpenOrder {
  readonly destinations: readonly Destination[];
  /** Requests per second to each. */
  readonly rate: number;
  readonly ms: number;
  /** At most so many are open; further ones are lost, as at a client that gives up at once. */
  readonly connections: number;
}

/** Opens streams and keeps them open; `open` counts the streams with a first byte. */
export interface HoldOrder extends Destination {
  readonly hold: number;
}
export interface HoldReport {
  readonly open: number;
}

/** Clients that read nothing: each sends these bytes, and again on a new connection when the server ends it. */
export interface StallOrder {
  readonly stall: readonly { readonly count: number; readonly bytes: string }[];
  readonly port: number;
}

/** One request; reports the complete response as text. */
export interface ProbeOrder extends Destination {
  readonly probe: true;
}
export interface ProbeReport {
  readonly status: number;
  readonly text: string;
}

type Order = LoadOrder | OpenOrder | HoldOrder | StallOrder | ProbeOrder | { readonly release: true };

/** A response that is still incomplete this long after the end counts as failed. */
const DRAIN_MS = 20_000;
const HOLD_MS = 15_000;
/** A group of connections, because a burst of handshakes is another test. */
const [GROUP, GROUP_MS] = [20, 10];

/** Connections left open by a ramp-up. */
let waiting: Client[] = [];

function repeat(order: LoadOrder): Promise<LoadReport> {
  const { port, request, connections, ms, maxRequests = Number.POSITIVE_INFINITY, isLead, isNew, pauseMs } = order;
  const { promise, resolve } = Promise.withResolvers<LoadReport>();
  const bytes = Buffer.from(request);
  const clients = waiting.length > 0 ? waiting : Array.from({ length: connections }, () => new Client(port, bytes));
  waiting = isLead ? clients : [];
  const tally = new Tally();
  let open = connections;
  let sent = connections;
  const finish = (): void => {
    clearTimeout(timer);
    const report = tally.report();
    if (!isLead) for (const client of clients) client.close();
    resolve(report);
  };
  const sendNext = (client: Client): void => {
    if (tally.ms < ms && sent < maxRequests) {
      sent += 1;
      return client.send();
    }
    open -= 1;
    if (open === 0) finish();
  };
  const timer = setTimeout(() => {
    for (; open > 0; open -= 1) tally.addSilent(`no response within ${DRAIN_MS / 1000} s`);
    finish();
  }, ms + DRAIN_MS);
  for (const client of clients) {
    client.onResponse = (status) => {
      tally.add(client, status);
      if (isNew) client.close();
      if (pauseMs === undefined) sendNext(client);
      else setTimeout(sendNext, pauseMs, client);
    };
    client.onFailure = (why) => {
      tally.addSilent(why);
      // Delayed, so that a target that refuses connections is not retried in a tight loop.
      setTimeout(sendNext, 50, client);
    };
    client.send();
  }
  return promise;
}

async function sendOpen({ destinations, rate, ms, connections }: OpenOrder): Promise<LoadReport[]> {
  const sides = destinations.map((destination) => new Side(destination, connections));
  const start = performance.now();
  const intervalMs = 1_000 / rate / sides.length;
  let now = 0;
  for (let n = 0; now < ms; ) {
    for (; n * intervalMs <= now; n += 1) sides[n % sides.length]?.send();
    const dueMs = Math.max(n * intervalMs, now + 1);
    await pause(dueMs - now);
    now = performance.now() - start;
    for (const side of sides) side.tally.addLateness(now - dueMs);
  }
  return Promise.all(sides.map((side) => side.drain(now)));
}

/** The connections to one destination: each request takes one that is idle, or a new one. */
class Side {
  readonly tally = new Tally();
  readonly #port: number;
  readonly #request: Buffer;
  readonly #connections: number;
  readonly #idle: Client[] = [];
  readonly #open = new Set<Client>();

  constructor({ port, request }: Destination, connections: number) {
    this.#port = port;
    this.#request = Buffer.from(request);
    this.#connections = connections;
  }

  send(): void {
    if (this.#open.size >= this.#connections) {
      this.tally.lost += 1;
      return;
    }
    const client = this.#idle.pop() ?? this.#connect();
    this.#open.add(client);
    client.send();
  }

  /** Waits for open responses. */
  async drain(sentMs: number): Promise<LoadReport> {
    for (const until = this.tally.ms + DRAIN_MS / 2; this.#open.size > 0 && this.tally.ms < until; ) await pause(10);
    for (const { hasBegun } of this.#open)
      this.tally.addSilent(hasBegun ? 'no response when the run ended' : 'a connection never got a response');
    for (const client of [...this.#open, ...this.#idle]) client.close();
    return this.tally.report(sentMs);
  }

  #connect(): Client {
    const client = new Client(this.#port, this.#request);
    client.onResponse = (status) => {
      this.tally.add(client, status);
      this.#open.delete(client);
      this.#idle.push(client);
    };
    client.onFailure = (why) => {
      // The target may close an idle connection; the next request opens another.
      const at = this.#idle.indexOf(client);
      if (at >= 0) return void this.#idle.splice(at, 1);
      this.#open.delete(client);
      this.tally.addSilent(why);
    };
    return client;
  }
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

async function hold({ port, request, hold: count }: HoldOrder): Promise<HoldReport> {
  const bytes = Buffer.from(request);
  for (let n = 0; n < count; n += 1) {
    const client = new Client(port, bytes);
    client.send();
    held.push(client);
    if (n % GROUP === GROUP - 1) await pause(GROUP_MS);
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

async function stall({ port, stall: groups }: StallOrder): Promise<HoldReport> {
  let open = 0;
  for (const { count, bytes } of groups)
    for (let n = 0; n < count; n += 1) {
      keepOpen(port, bytes);
      open += 1;
      if (open % GROUP === 0) await pause(GROUP_MS);
    }
  return { open };
}

function keepOpen(port: number, bytes: string): void {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  socket.pause();
  socket.write(bytes);
  socket.once('close', () => setTimeout(keepOpen, 1_000, port, bytes));
}

function obey(order: Order): object | Promise<object> {
  if ('release' in order) return release();
  if ('hold' in order) return hold(order);
  if ('stall' in order) return stall(order);
  if ('probe' in order) return probe(order);
  return 'rate' in order ? sendOpen(order) : repeat(order);
}

process.on('message', async (order: Order) => process.send?.(await obey(order)));
process.on('disconnect', () => process.exit());
