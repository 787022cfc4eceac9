/**
 * The load of the benchmark of connections, a separate process: clients that connect at the same moment, clients with a connection for each
 * request.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from './client.ts';
import { quantile } from './quantile.ts';

/** All connect at once and repeat their request for `ms`. */
export interface CrowdOrder {
  readonly crowd: number;
  readonly port: number;
  readonly request: string;
  readonly ms: number;
}
export interface CrowdReport {
  /** Connections that got their first response, and when, in ms from the start. */
  readonly answered: number;
  readonly firstP50: number;
  readonly firstMax: number;
  readonly responses: number;
}

/** Requests one after the other in each of `lanes`, each on a connection of its own, with a pause between them. */
export interface NewOrder {
  readonly lanes: number;
  readonly port: number;
  readonly request: string;
  readonly ms: number;
  readonly pauseMs?: number | undefined;
}
export interface NewReport {
  readonly requests: number;
  readonly failures: number;
  readonly seconds: number;
  readonly p50: number;
  readonly max: number;
}

const DRAIN_MS = 10_000;

/** Resolves with the time that one request on a new connection took; infinite without a response. */
function once(port: number, request: Buffer): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const client = new Client(port, request);
  const end = (ms: number): void => {
    clearTimeout(timer);
    client.close();
    resolve(ms);
  };
  client.onResponse = () => end(performance.now() - client.startedAt);
  client.onFailure = () => end(Number.POSITIVE_INFINITY);
  const timer = setTimeout(end, DRAIN_MS, Number.POSITIVE_INFINITY);
  client.send();
  return promise;
}

async function crowd({ crowd: count, port, request, ms }: CrowdOrder): Promise<CrowdReport> {
  const bytes = Buffer.from(request);
  const first: number[] = [];
  let responses = 0;
  const start = performance.now();
  const clients = Array.from({ length: count }, () => {
    const client = new Client(port, bytes);
    let hasFirst = false;
    client.onResponse = () => {
      responses += 1;
      if (!hasFirst) first.push(performance.now() - start);
      hasFirst = true;
      if (performance.now() - start < ms) client.send();
    };
    client.send();
    return client;
  });
  await pause(ms);
  for (const until = performance.now() + DRAIN_MS; first.length < count && performance.now() < until; ) await pause(10);
  for (const client of clients) client.close();
  first.sort((a, b) => a - b);
  return {
    answered: first.length,
    firstP50: quantile(first, 0.5),
    firstMax: first.at(-1) ?? Number.NaN,
    responses,
  };
}

async function connectAnew({ lanes, port, request, ms, pauseMs }: NewOrder): Promise<NewReport> {
  const bytes = Buffer.from(request);
  const start = performance.now();
  const times: number[] = [];
  let failures = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - start < ms) {
      const took = await once(port, bytes);
      if (Number.isFinite(took)) times.push(took);
      else failures += 1;
      if (pauseMs !== undefined) await pause(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  times.sort((a, b) => a - b);
  const seconds = (performance.now() - start) / 1_000;
  return { requests: times.length, failures, seconds, p50: quantile(times, 0.5), max: times.at(-1) ?? Number.NaN };
}

process.on('message', async (order: CrowdOrder | NewOrder) => {
  process.send?.('crowd' in order ? await crowd(order) : await connectAnew(order));
});
process.on('disconnect', () => process.exit());
