/**
 * The sockets of a port. Node accepts one connection per socket in a turn of the event loop, so a busy process with one socket would leave
 * new clients waiting. Where the system spreads connections over sockets, a port has many, each with its own queue.
 */
import { lookup } from 'node:dns/promises';
import { BoundSocket } from 'node:net';
import { SERVER_BOUNDS } from './bounds.ts';

/** What a server listens on: its own socket, one that its parent process has bound, or an address (which `node:cluster` shares on Windows). */
export type ListeningSocket = BoundSocket | { readonly fd: number } | { readonly host: string; readonly port: number };

/** macOS and Windows do not spread connections. */
const MAX_SOCKETS = process.platform === 'linux' ? SERVER_BOUNDS.listeningSockets.limit : 1;

/** Claims a port, of which 0 picks a free one. The sockets do not listen yet. Throws when another process has the port. */
export async function bindSockets(
  host: string,
  port: number,
  count: number = SERVER_BOUNDS.listeningSockets.limit,
): Promise<readonly BoundSocket[]> {
  const { address } = await lookup(host);
  // A port that can have many sockets is open to those of another server too. Without the option this fails if one listens.
  if (port !== 0) new BoundSocket({ host: address, port }).close();
  const reusePort = MAX_SOCKETS > 1;
  const sockets = [new BoundSocket({ host: address, port, reusePort })];
  const options = { host: address, port: portOf(sockets), reusePort };
  while (sockets.length < Math.min(count, MAX_SOCKETS)) sockets.push(new BoundSocket(options));
  return sockets;
}

export function portOf([first]: readonly BoundSocket[]): number {
  const address = first?.address();
  return typeof address === 'object' ? address.port : 0;
}
