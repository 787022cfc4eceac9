/** What the benchmarks of misuse share: an upstream, a load generator, and one gateway that accepts thousands of connections of one address. */
import { loadavg } from 'node:os';
import { nextMessage, type StartedProcess, startHelper } from './child.ts';
import { startGateway } from './gateway.ts';
import { CORES, describeMachine } from './machine.ts';
import { NATIVE, requestOf } from './scenarios.ts';
import type { Target } from './target.ts';

export interface Stand {
  readonly target: Target;
  readonly upstreamPort: number;
  /** The ordinary load. */
  readonly load: StartedProcess;
  /** The load that the benchmark is about. */
  readonly misuse: StartedProcess;
  /** A native request, ready to send. */
  readonly request: string;
  stop(): Promise<void>;
}

const CONNECTIONS = '8000';

/** `script` is the program of the load that the benchmark is about. */
export async function openStand(script: './flood.ts' | './slow-load.ts'): Promise<Stand> {
  const upstream = startHelper('./upstream.ts', CORES?.load);
  const { port: upstreamPort } = await nextMessage<{ port: number }>(upstream);
  const load = startHelper('./load.ts', CORES?.load);
  const misuse = startHelper(script, CORES?.load);
  const env = { MAX_CONNECTIONS: CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS: CONNECTIONS };
  const target = await startGateway({ name: 'dragoman', env }, upstreamPort);
  return {
    target,
    upstreamPort,
    load,
    misuse,
    request: requestOf(target, NATIVE, 'bench-burst', false),
    async stop() {
      await target.stop();
      for (const helper of [misuse, load, upstream]) await helper.stop();
    },
  };
}

/** The machine and how busy it is, for the first lines of a report. */
export const describeStand = (): string =>
  `${describeMachine()}\nload average ${loadavg()
    .map((value) => value.toFixed(1))
    .join(' ')}`;

/** A quantile of nothing arrives as null. */
export const numberText = (value: number | null, digits = 0): string =>
  (value ?? Number.NaN).toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits });
