/** Limits of open client connections, and their defaults: every connection holds a file descriptor and some memory. */
import { readFileSync } from 'node:fs';
import { isAddressIn } from '../../core/index.ts';
import type { ConnectionLimits } from '../http/index.ts';

/** Descriptors for the database, the journal, uploads and log files. */
const OTHER_FILES = 256;
/** Where the limit of open files is unknown. */
const ASSUMED_OPEN_FILES = 4_096;
const DEFAULT_CONNECTIONS = { min: 16, max: 10_000 } as const;

export interface ConnectionSettings {
  readonly total: number | undefined;
  readonly perAddress: number | undefined;
  /** Processes that share the limits in equal parts. */
  readonly workers?: number;
}

export function connectionLimits(
  { total, perAddress, workers = 1 }: ConnectionSettings,
  trustedProxies: readonly string[],
): ConnectionLimits {
  const all = total ?? defaultConnections(openFileLimit());
  return {
    total: Math.ceil(all / workers),
    // One client can never take all connections.
    perAddress: Math.ceil((perAddress ?? all / 2) / workers),
    // Behind the one address of a proxy are many clients.
    isExempt: (address) => trustedProxies.length > 0 && isAddressIn(address, trustedProxies),
  };
}

/** Half of the descriptors, because a request in progress needs a second one for its provider. */
export function defaultConnections(openFiles = ASSUMED_OPEN_FILES): number {
  const { min, max } = DEFAULT_CONNECTIONS;
  return Math.max(min, Math.min(max, Math.floor((openFiles - OTHER_FILES) / 2)));
}

/**
 * The soft limit of open files of this process; undefined where the system has no /proc, or the limit is `unlimited`.
 */
function openFileLimit(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
