/**
 * The address of a running postmaster: a private unix socket, or loopback with a password on systems without unix
 * sockets.
 */
import { Client } from 'pg';

export interface Endpoint {
  /** The folder of a unix socket, or an IP address. */
  readonly host: string;
  readonly port: number;
  readonly password: string | undefined;
}

export type Transport = 'socket' | 'tcp';

/**
 * The role of the gateway. Not a superuser, so the gateway cannot depend on rights that it lacks on an external
 * PostgreSQL.
 */
export const APPLICATION_ROLE = 'dragoman';
export const DATABASE = 'dragoman';

/**
 * The role of the launcher. The three connections reserved for superusers keep it working when all others are in use.
 */
export const LAUNCHER_ROLE = 'postgres';
export const LAUNCHER_DATABASE = 'postgres';

/** A local postmaster accepts connections in milliseconds; one that needs this long is stuck. */
const CONNECT_TIMEOUT_MS = 10_000;

export const platformTransport = (): Transport => (process.platform === 'win32' ? 'tcp' : 'socket');

/** Also a WHATWG URL, with the folder of the socket as percent-encoded host, so that callers can replace its parts. */
export function urlOf(endpoint: Endpoint, role = APPLICATION_ROLE, database = DATABASE): string {
  const password = endpoint.password === undefined ? '' : `:${encodeURIComponent(endpoint.password)}`;
  const address = `${encodeURIComponent(endpoint.host)}:${endpoint.port}`;
  // sslmode: otherwise PGSSLMODE of the environment applies, and the socket has no TLS.
  return `postgresql://${role}${password}@${address}/${database}?sslmode=disable`;
}

export async function connectEmbedded(url: string, applicationName: string): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true });
  // Without a listener the error of a broken idle connection ends the process. Queries report their own errors.
  client.on('error', () => undefined);
  try {
    await client.connect();
    // Not in the options, because an application_name in the connection string has precedence over them.
    await client.query("select set_config('application_name', $1, false)", [applicationName]);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}
