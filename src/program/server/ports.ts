/** The ports of a server: claimed by this process, or by the primary of a worker. */
import type { Log } from '../../core/index.ts';
import type { Link, WorkerShare } from '../../platform/cluster/index.ts';
import type { Config } from '../../platform/config.ts';
import { type BoundPort, bindPort, type ListeningSocket, openHealthListener } from '../../platform/http/index.ts';
import { version } from '../../platform/version.ts';
import { operatorRow } from '../../rules/index.ts';
import { CliError } from './context.ts';

export type PortName = 'PORT' | 'METRICS_PORT';

export type PortSockets = Readonly<Record<PortName, readonly ListeningSocket[]>>;

/** The place of this process among the workers of a server, and its link to their primary. */
export interface ClusterMember extends WorkerShare {
  readonly primary: Link;
  readonly port: number;
  /** What the primary has claimed, for all workers. */
  readonly sockets: PortSockets;
  /** The metrics of all workers together. */
  metricsText(): Promise<string>;
}

export interface ClaimedPorts extends Pick<ClusterMember, 'port' | 'sockets'> {
  /** A server listens on them now. */
  unlock?(): void;
  /** Gives them up before a server listens on them. */
  release?(): void;
}

export async function claimPorts(config: Config): Promise<ClaimedPorts> {
  const api = await claimPort('PORT', config);
  const metrics = config.METRICS_PORT === undefined ? undefined : await claimPort('METRICS_PORT', config);
  return {
    port: api.port,
    sockets: { PORT: api.sockets, METRICS_PORT: metrics?.sockets ?? [] },
    unlock() {
      api.unlock();
      metrics?.unlock();
    },
    release() {
      api.close();
      metrics?.close();
    },
  };
}

/** Claims the port of a setting, without listening yet. */
export async function claimPort(name: PortName, config: Config): Promise<BoundPort> {
  const [host, port] = [config.HOST, config[name] ?? 0];
  try {
    return await bindPort(host, port, name === 'PORT' ? undefined : 1);
  } catch (error) {
    throw new CliError(listenFailure(host, port, name, error as NodeJS.ErrnoException));
  }
}

/**
 * Opens a claimed port. Another program may have taken it while the server prepared itself: a claim keeps only servers
 * of ours away.
 */
export async function openPort(name: PortName, config: Config, listen: () => Promise<number>): Promise<number> {
  return listen().catch((error: NodeJS.ErrnoException) => {
    throw new CliError(listenFailure(config.HOST, config[name] ?? 0, name, error));
  });
}

/** Serves health checks on HEALTH_PORT, if it is set, until the process ends. */
export async function openHealthPort(
  { HOST: host, HEALTH_PORT: port }: Config,
  log: Log,
  notReady: () => Promise<string | undefined>,
): Promise<void> {
  if (port === undefined) return;
  const paths = { alive: operatorRow('operator.alive').path, ready: operatorRow('operator.ready').path };
  const options = { host, port, paths, version, notReady };
  const health = await openHealthListener(options).catch((error: NodeJS.ErrnoException) => {
    throw new CliError(listenFailure(host, port, 'HEALTH_PORT', error));
  });
  log.info('health.ready', { host, port: health.port });
}

function listenFailure(host: string, port: number, setting: string, error: NodeJS.ErrnoException): string {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} on ${host} is taken. Stop what uses it, or set ${setting} to another one.`;
  if (error.code === 'EACCES')
    return `This user may not listen on port ${port} of ${host}. Set ${setting} to 1024 or higher.`;
  return `Cannot listen on ${host}:${port}: ${error.message}. Set HOST to an address of this machine: 127.0.0.1, or 0.0.0.0 for all.`;
}

/** The address of this installation for links: `PUBLIC_URL`, or the address that the server listens on. */
export function publicUrlOf({ PUBLIC_URL, HOST, TLS_CERT }: Config, port: number): string {
  const scheme = TLS_CERT === undefined ? 'http' : 'https';
  const host = HOST.includes(':') ? `[${HOST}]` : HOST;
  return PUBLIC_URL ?? `${scheme}://${host}:${port}`;
}
