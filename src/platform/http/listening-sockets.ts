/**
 * The sockets of a port. Node accepts one connection per socket and turn,
 * so a port has many where the system spreads connections.
 */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { BoundSocket, createServer } from 'node:net';
import { SERVER_BOUNDS } from './bounds.ts';

/**
 * What a server listens on: its own socket, one that its parent process has bound,
 * or an address (which `node:cluster` shares on Windows).
 */
export type ListeningSocket = BoundSocket | { readonly fd: number } | { readonly host: string; readonly port: number };

/** macOS and Windows do not spread connections over the sockets of a port. */
const IS_SPREAD = process.platform === 'linux';

/** A claimed port. Its sockets do not listen yet. */
export interface BoundPort {
  readonly port: number;
  readonly sockets: readonly BoundSocket[];
  /** To be called when the sockets listen, which keeps others out from then on. */
  unlock(): void;
  /** Gives the port up, unless its sockets listen. */
  close(): void;
}

/** Claims a port, of which 0 picks a free one. Throws when another process has it, or is about to. */
export async function bindPort(
  host: string,
  port: number,
  count: number = SERVER_BOUNDS.listeningSockets.limit,
): Promise<BoundPort> {
  const { address } = await lookup(host);
  const unlock = await lockPort(address, port);
  const sockets: BoundSocket[] = [];
  const close = (): void => {
    unlock();
    for (const socket of sockets) socket.close();
  };
  try {
    // A port that can have many sockets is open to those of another server too.
    // Without the option this fails if one listens.
    if (port !== 0) new BoundSocket({ host: address, port }).close();
    const first = new BoundSocket({ host: address, port, reusePort: IS_SPREAD });
    sockets.push(first);
    const options = { host: address, port: portOf(first), reusePort: IS_SPREAD };
    while (sockets.length < (IS_SPREAD ? count : 1)) sockets.push(new BoundSocket(options));
    return { port: options.port, sockets, unlock, close };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Until one of its sockets listens, the system lets every process bind further ones.
 * Two servers that start at once would share a port.
 */
async function lockPort(address: string, port: number): Promise<() => void> {
  if (!IS_SPREAD || port === 0) return () => {};
  // A name without a file, which ends with its process.
  const lock = createServer((stranger) => stranger.on('error', () => {}).destroy())
    .listen(`\0dragoman:${address}:${port}`)
    .unref();
  await once(lock, 'listening');
  lock.on('error', () => {});
  return () => void lock.close();
}

function portOf(socket: BoundSocket): number {
  const address = socket.address();
  return typeof address === 'object' ? address.port : 0;
}
