/**
 * The load generator of the overload benchmark, a separate process: requests leave at a rate far above what the target can serve, whether
 * or not responses have arrived. Successes and refusals are counted apart.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from './client.ts';
import { quantile } from './quantile.ts';

export interface FloodOrder {
  readonly port: number;
  /** Head and body. */
  readonly request: string;
  /** Requests per second. */
  readonly rate: number;
  readonly ms: number;
  /** At most so many are open; further ones are lost, as at a client that gives up at once. */
  readonly connections: number;
}

export interface FloodReport {
  /** Requests that were due, that were sent, and by how they ended. */
  readonly due: number;
  readonly sent: number;
  readonly served: number;
  readonly refused: number;
  readonly failed: number;
  readonly seconds: number;
  readonly servedP50: number;
  readonly servedP99: number;
  readonly refusedP50: number;
  readonly refusedP99: number;
  /** 99th percentile of how late the generator itself was, in ms: what it adds to every time above. */
  readonly ownDelayP99: number;
  /** Requests that failed, by cause. */
  readonly failures: Readonly<Record<string, number>>;
}

const TICK_MS = 1;
const DRAIN_MS = 5_000;
const REFUSALS = [429, 503, 529];

async function flood({ port, request, rate, ms, connections }: FloodOrder): Promise<FloodReport> {
  const bytes = Buffer.from(request);
  const idle: Client[] = [];
  const open = new Set<Client>();
  const [served, refused, ownDelays]: [number[], number[], number[]] = [[], [], []];
  const counts = { due: 0, sent: 0, failed: 0 };
  const failures: Record<string, number> = {};
  const fail = (cause: string, count = 1): void => {
    counts.failed += count;
    if (count > 0) failures[cause] = (failures[cause] ?? 0) + count;
  };
  const connectClient = (): Client => {
    const client = new Client(port, bytes);
    client.onResponse = (status) => {
      const took = performance.now() - client.startedAt;
      if (status === 200) served.push(took);
      else if (REFUSALS.includes(status)) refused.push(took);
      else fail(`got ${status}`);
      open.delete(client);
      idle.push(client);
    };
    client.onFailure = (why) => {
      const at = idle.indexOf(client);
      if (at >= 0) return void idle.splice(at, 1);
      open.delete(client);
      fail(why);
    };
    return client;
  };
  const start = performance.now();
  for (let last = start; performance.now() - start < ms; ) {
    await pause(TICK_MS);
    const now = performance.now();
    ownDelays.push(now - last - TICK_MS);
    last = now;
    for (const target = ((now - start) * rate) / 1_000; counts.due < target; counts.due += 1) {
      if (open.size >= connections) continue;
      const client = idle.pop() ?? connectClient();
      open.add(client);
      counts.sent += 1;
      client.send();
    }
  }
  const seconds = (performance.now() - start) / 1_000;
  for (const until = performance.now() + DRAIN_MS; open.size > 0 && performance.now() < until; ) await pause(10);
  const silent = [...open].filter(({ hasBegun }) => !hasBegun).length;
  fail('on a connection that never got a response', silent);
  fail('without a response when the run ended', open.size - silent);
  for (const client of [...open, ...idle]) client.close();
  for (const times of [served, refused, ownDelays]) times.sort((a, b) => a - b);
  return {
    ...counts,
    served: served.length,
    refused: refused.length,
    seconds,
    servedP50: quantile(served, 0.5),
    servedP99: quantile(served, 0.99),
    refusedP50: quantile(refused, 0.5),
    refusedP99: quantile(refused, 0.99),
    ownDelayP99: quantile(ownDelays, 0.99),
    failures,
  };
}

process.on('message', async (order: FloodOrder) => process.send?.(await flood(order)));
process.on('disconnect', () => process.exit());
