/**
 * Embedded PostgreSQL: joins the server that runs on a data directory or creates and starts one, and stops it when the
 * last process leaves. Other folders import only this file. It knows nothing of the gateway's tables. Reasons:
 * docs/adr/0001-embedded-postgresql.md
 */
import { openDataDir } from './data-location.ts';
import { platformTransport, type Transport, urlOf } from './endpoint.ts';
import { EmbeddedUnavailable, embeddedFailure } from './failure.ts';
import { LockConnection } from './lock-connection.ts';
import { joinServer, leaveServer } from './membership.ts';

export { EmbeddedUnavailable } from './failure.ts';
export { claimServer, type ServerClaim } from './single-server.ts';

export interface Embedded {
  /** Connection string for `pg`. Also a WHATWG URL, so its parts can be replaced. */
  readonly url: string;
  /** A postmaster was already running on this data directory. */
  readonly adopted: boolean;
  /** The directory of the cluster. */
  readonly directory: string;
  /** Stops the postmaster if no other process uses it. Close all connections first. Repeated calls do nothing. */
  leave(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** Receives progress messages for the operator. */
  readonly notify?: (message: string) => void;
  /** False turns fsync off: faster, unsafe, for tests only. */
  readonly durable?: boolean;
}

export const joinEmbedded = (options: EmbeddedOptions): Promise<Embedded> => joinOver(platformTransport(), options);

/** As `joinEmbedded`, over a given transport: tests use the one that is not the default of the platform. */
export async function joinOver(transport: Transport, options: EmbeddedOptions): Promise<Embedded> {
  const { durable = true, notify = () => undefined } = options;
  try {
    const dataDir = await openDataDir(options.dataDir);
    const membership = await joinServer({ dataDir, transport, durable, notify: notify, port: undefined });
    const { port } = membership.endpoint;
    const lock = new LockConnection(
      membership.client,
      async () => (await joinServer({ dataDir, transport, durable, notify: notify, port })).client,
    );
    let leaving: Promise<void> | undefined;
    return {
      url: urlOf(membership.endpoint),
      adopted: membership.adopted,
      directory: membership.location.cluster,
      leave() {
        leaving ??= lock.release().then((client) => leaveServer(membership, client, notify));
        return leaving;
      },
    };
  } catch (error) {
    if (error instanceof EmbeddedUnavailable) throw error;
    throw embeddedFailure(`The database in ${options.dataDir} could not be opened`, {
      evidence: String(error),
      cause: error,
    });
  }
}
