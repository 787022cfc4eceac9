/**
 * Faults of connections, each on a port of its own: nothing listens, nothing is accepted, or a proxy damages what
 * passes.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { FaultCase } from './fault-cases.ts';
import { type TcpFault, TcpFaultProxy } from './tcp-fault-proxy.ts';

export interface FaultPort {
  url: string;
  /** Open connections. */
  connections(): number;
  close(): Promise<void>;
}

/** `open` starts the port; the target is the URL of a provider. */
export type ConnectionFaultCase = FaultCase & { open(target: string): Promise<FaultPort> };

/** Longer than the head and the first events of a response, shorter than the response. */
const MIDDLE_BYTE = 6_000;
/** Inside the head. */
const HEAD_BYTE = 60;
const LONG = 'big=20000';

const proxied = (
  name: string,
  fault: TcpFault,
  damage: FaultCase['damage'],
  more: Partial<FaultCase> = {},
): ConnectionFaultCase => ({
  name,
  words: LONG,
  damage,
  ...more,
  open: async (target) => {
    const proxy = await TcpFaultProxy.start(target, fault);
    return { url: proxy.url, connections: () => proxy.connections, close: () => proxy.close() };
  },
});

const BEFORE = { unary: 'before', stream: 'before' } as const;
const BROKEN = { unary: 'before', stream: 'mid' } as const;
const HARMLESS = { unary: 'none', stream: 'none' } as const;

export const CONNECTION_FAULT_CASES: readonly ConnectionFaultCase[] = [
  { name: 'connection refused', words: '', damage: BEFORE, open: openRefusing },
  { name: 'connection attempts hang', words: '', damage: BEFORE, isSlow: true, open: openHanging },
  { name: 'accept, then reset', words: '', damage: BEFORE, open: openResetting },
  proxied('reset at byte 0', { resetAtByte: 0 }, BEFORE),
  proxied('reset in the head', { resetAtByte: HEAD_BYTE }, BEFORE),
  proxied('reset in the body', { resetAtByte: MIDDLE_BYTE }, BROKEN),
  proxied('cut at byte 0', { cutAtByte: 0 }, BEFORE),
  proxied('cut in the head', { cutAtByte: HEAD_BYTE }, BEFORE),
  proxied('cut in the body', { cutAtByte: MIDDLE_BYTE }, BROKEN),
  proxied('stall at byte 0', { stallAtByte: 0 }, BEFORE, { isSlow: true }),
  proxied('stall in the head', { stallAtByte: HEAD_BYTE }, BEFORE, { isSlow: true }),
  proxied('stall in the body', { stallAtByte: MIDDLE_BYTE }, BROKEN, { isSlow: true }),
  proxied(
    'half-open after the body',
    { swallowsEnd: true },
    { unary: 'before', stream: 'late' },
    {
      words: `${LONG};wire=close_delimited`,
      isSlow: true,
    },
  ),
  proxied('slices of one to seven bytes', { isSliced: true }, HARMLESS),
  proxied('latency', { latencyMs: 60 }, HARMLESS),
  proxied('little bandwidth', { bytesPerSecond: 200_000 }, HARMLESS),
];

/** Nothing listens on the port. */
async function openRefusing(): Promise<FaultPort> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = urlOf(server.address() as AddressInfo);
  server.close();
  await once(server, 'close');
  return { url, connections: () => 0, close: async () => {} };
}

async function openResetting(): Promise<FaultPort> {
  const server = createServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: urlOf(server.address() as AddressInfo),
    connections: () => 0,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

/** A thread that listens and then never runs again. */
const DEAF_LISTENER = `
  const { createServer } = require('node:net');
  const { parentPort } = require('node:worker_threads');
  const server = createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address());
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;
/** More than the queue of connections that nothing accepts has room for. */
const FILLING_CONNECTIONS = 4;

/** The queue of the port is full, so that the system ignores further attempts to connect. */
async function openHanging(): Promise<FaultPort> {
  const listener = new Worker(DEAF_LISTENER, { eval: true });
  const [address] = (await once(listener, 'message')) as [AddressInfo];
  const filling: Socket[] = [];
  for (let n = 0; n < FILLING_CONNECTIONS; n += 1)
    filling.push(connect(address.port, '127.0.0.1').on('error', () => {}));
  return {
    url: urlOf(address),
    connections: () => 0,
    close: async () => {
      for (const socket of filling) socket.destroy();
      await listener.terminate();
    },
  };
}

const urlOf = ({ port }: AddressInfo): string => `http://127.0.0.1:${port}`;
