/** The ports of a server: opened by this process, or by the primary of a worker. */
import type { Link, WorkerShare } from '../cluster/index.ts';
import type { Config } from '../config.ts';
import type { AdoptConnection } from '../http/index.ts';
import type { Web } from '../web/index.ts';
import { CliError } from './context.ts';

/** The ports of a server. */
export type PortName = 'PORT' | 'METRICS_PORT';

/** The place of this process among the workers of a server, and its link to their primary. */
export interface ClusterMember extends WorkerShare {
  readonly primary: Link;
  /** The port of the API, on which the primary accepts connections. */
  readonly port: number;
  /** Hands over connections from now on. */
  serve(port: PortName, adopt: AdoptConnection): void;
  /** The metrics of all workers together. */
  metricsText(): Promise<string>;
}

/** Listens on the port of a setting, or serves the connections that the primary accepts there. Returns the port. */
export async function openPort(
  web: Web,
  name: PortName,
  config: Config,
  member: ClusterMember | undefined,
): Promise<number> {
  if (member) {
    member.serve(name, web.adopt());
    return name === 'PORT' ? member.port : (config.METRICS_PORT ?? 0);
  }
  const [host, port] = [config.HOST, config[name] ?? 0];
  try {
    return (await web.listen(host, port)).port;
  } catch (error) {
    throw new CliError(listenFailure(host, port, name, error as NodeJS.ErrnoException));
  }
}

export function listenFailure(host: string, port: number, setting: PortName, error: NodeJS.ErrnoException): string {
  if (error.code === 'EADDRINUSE')
    return `Port ${port} on ${host} is taken. Stop what uses it, or set ${setting} to another one.`;
  if (error.code === 'EACCES')
    return `This user may not listen on port ${port} of ${host}. Set ${setting} to 1024 or higher.`;
  return `Cannot listen on ${host}:${port}: ${error.message}. Set HOST to an address of this machine: 127.0.0.1, or 0.0.0.0 for all.`;
}

/** The address of this installation for links: `PUBLIC_URL`, or the address that the server listens on. */
export const publicUrlOf = ({ PUBLIC_URL, HOST, TLS_CERT }: Config, port: number): string =>
  PUBLIC_URL ?? `${TLS_CERT === undefined ? 'http' : 'https'}://${HOST.includes(':') ? `[${HOST}]` : HOST}:${port}`;
