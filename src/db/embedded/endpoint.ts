/**
 * How to reach a running postmaster: a private unix socket, or loopback with a password where there are none.
 * Owns the connection string and opens single connections; knows nothing about who may stop what.
 */
import { Client } from 'pg';

export interface Endpoint {
  /** A folder for a unix socket, otherwise an address. */
  readonly host: string;
  readonly port: number;
  readonly password: string | null;
}

export type Transport = 'socket' | 'tcp';

/** What the gateway connects as: not a superuser, so it needs no more here than on somebody's own PostgreSQL. */
export const APPLICATION_ROLE = 'dragoman';
export const DATABASE = 'dragoman';

/** The launcher's own connections; the three slots reserved for superusers keep it working when the pools are full. */
export const LAUNCHER_ROLE = 'postgres';
export const LAUNCHER_DATABASE = 'postgres';

/** A local postmaster answers in milliseconds; one that needs this long is stuck. */
const CONNECT_TIMEOUT_MS = 10_000;

export function platformTransport(): Transport {
  return process.platform === 'win32' ? 'tcp' : 'socket';
}

/** A WHATWG URL as well (the socket's folder is the percent-encoded host), so that callers can exchange its parts. */
export function urlOf(endpoint: Endpoint, role = APPLICATION_ROLE, database = DATABASE): string {
  const password = endpoint.password === null ? '' : `:${encodeURIComponent(endpoint.password)}`;
  const address = `${encodeURIComponent(endpoint.host)}:${endpoint.port}`;
  // sslmode: PGSSLMODE of the environment must not reach a socket that has no TLS.
  return `postgresql://${role}${password}@${address}/${database}?sslmode=disable`;
}

export async function connect(url: string, applicationName: string): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true });
  // Without a listener, a connection lost while idle would end the process; queries report their own errors.
  client.on('error', () => undefined);
  try {
    await client.connect();
    // Not in the options: an application_name in the connection string would win over them.
    await client.query("select set_config('application_name', $1, false)", [applicationName]);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}
