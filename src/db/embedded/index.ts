/**
 * PostgreSQL without anything to install: joins the one that runs on a data directory, or makes and starts it, and
 * stops it when its last user leaves.
 * The only file of this folder that others import. Knows nothing of the gateway's tables.
 */

import { openDataDir } from './data-location.ts';
import { platformTransport, type Transport, urlOf } from './endpoint.ts';
import { EmbeddedUnavailable, failed } from './failure.ts';
import { holdLock } from './lock-connection.ts';
import { depart, enter } from './membership.ts';

export { EmbeddedUnavailable } from './failure.ts';
export { claimServer, type ServerClaim } from './single-server.ts';

export interface Embedded {
  /** For `pg`; also a URL whose parts can be exchanged. */
  readonly url: string;
  /** A postmaster was already running on this data directory. */
  readonly adopted: boolean;
  /** Where the cluster really lives. */
  readonly directory: string;
  /** Stops the postmaster if nobody else uses it. Close your own connections first; calling it again does nothing. */
  leave(): Promise<void>;
}

export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly say?: (sentence: string) => void;
  /** False gives up safety for speed (no fsync): for tests only. */
  readonly durable?: boolean;
}

export async function joinEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  return joinOver(platformTransport(), options);
}

/** For tests of the transport that this platform does not use by itself. */
export async function joinOver(transport: Transport, options: EmbeddedOptions): Promise<Embedded> {
  const { durable = true, say = () => undefined } = options;
  try {
    const dataDir = await openDataDir(options.dataDir);
    const entry = await enter({ dataDir, transport, durable, say, port: null });
    const { port } = entry.endpoint;
    const held = holdLock(entry.client, async () => (await enter({ dataDir, transport, durable, say, port })).client);
    let leaving: Promise<void> | null = null;
    return {
      url: urlOf(entry.endpoint),
      adopted: entry.adopted,
      directory: entry.home.cluster,
      leave() {
        leaving ??= held.letGo().then((client) => depart(entry, client, say));
        return leaving;
      },
    };
  } catch (error) {
    if (error instanceof EmbeddedUnavailable) throw error;
    throw failed(`The database in ${options.dataDir} could not be opened`, String(error), null, error);
  }
}
