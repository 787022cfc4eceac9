/**
 * What the benchmarks of misuse share: an upstream, two load generators, and gateways that accept thousands of
 * connections of one address.
 */
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { nextMessage, type StartedProcess, sendOrder, startHelper } from './child.ts';
import { startGateway } from './gateway.ts';
import type { ProbeReport } from './load.ts';
import { CORES, cpuOfTree, describeMachine } from './machine.ts';
import { NATIVE, requestOf } from './scenarios.ts';
import type { LoadReport } from './tally.ts';
import type { Target } from './target.ts';

/** A gateway, and a native request that is ready to send. */
export interface Opened {
  readonly target: Target;
  readonly port: number;
  readonly request: string;
}

export interface Stand {
  readonly upstreamPort: number;
  /** The ordinary load. */
  readonly load: StartedProcess;
  /** The load that the benchmark is about. */
  readonly misuse: StartedProcess;
  /** Waits until the gateway serves: its port opens before the configuration is applied. */
  open(env?: Readonly<Record<string, string>>, isPinned?: boolean): Promise<Opened>;
  stop(): Promise<void>;
}

const SETTINGS = { MAX_CONNECTIONS: '8000', MAX_CONNECTIONS_PER_ADDRESS: '8000' };

export async function openStand(): Promise<Stand> {
  const upstream = startHelper('./upstream.ts', CORES?.load);
  const { port: upstreamPort } = await nextMessage<{ port: number }>(upstream);
  const load = startHelper('./load.ts', CORES?.load);
  const misuse = startHelper('./load.ts', CORES?.load);
  const gateways: Target[] = [];
  return {
    upstreamPort,
    load,
    misuse,
    async open(env = {}, isPinned = true) {
      const target = await startGateway({ name: 'dragoman', env: { ...SETTINGS, ...env }, isPinned }, upstreamPort);
      gateways.push(target);
      const { port } = target;
      const request = requestOf(target, NATIVE, { model: 'bench-burst', stream: false });
      while ((await sendOrder<ProbeReport>(load, { probe: true, port, request })).status !== 200) await pause(100);
      return { target, port, request };
    },
    async stop() {
      for (const gateway of gateways) await gateway.stop();
      for (const helper of [misuse, load, upstream]) await helper.stop();
    },
  };
}

export interface Costed extends LoadReport {
  /** CPU time of the target, in us. */
  readonly cpu: number;
  readonly perRequest: number;
}

/** Sends the load, and adds what the target used meanwhile. */
export async function sendMeasured(helper: StartedProcess, { pid = 0 }: Target, order: object): Promise<Costed> {
  const before = cpuOfTree(pid).own;
  const reply = await sendOrder<LoadReport | [LoadReport]>(helper, order);
  const report = Array.isArray(reply) ? reply[0] : reply;
  const cpu = (cpuOfTree(pid).own - before) * 1e6;
  return { ...report, cpu, perRequest: cpu / report.requests };
}

/** The machine and how busy it is, for the first lines of a report. */
export const describeStand = (): string =>
  `${describeMachine()}\nload average ${loadavg()
    .map((value) => value.toFixed(1))
    .join(' ')}`;

/** A quantile of nothing arrives as null. */
export const numberText = (value: number | null, digits = 0): string =>
  (value ?? Number.NaN).toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits });
