/** The slow clients of bench/slow-clients.ts, a separate process: some read nothing, others send half of a request and wait. */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export interface SlowOrder {
  readonly port: number;
  /** A request whose response has no end. */
  readonly flood: string;
  readonly request: string;
  readonly readers: number;
  readonly halves: number;
}

export interface SlowReport {
  readonly readers: number;
  readonly halves: number;
}

/** Opened in small groups, because a burst of handshakes is another test. */
const GROUP = 20;
const GROUP_MS = 10;

async function hold({ port, flood, request, readers, halves }: SlowOrder): Promise<SlowReport> {
  const headEnd = request.indexOf('\r\n\r\n');
  for (let n = 0; n < readers; n += 1) {
    keepOpen(port, flood);
    if (n % GROUP === GROUP - 1) await pause(GROUP_MS);
  }
  for (let n = 0; n < halves; n += 1) {
    keepOpen(port, n % 2 === 0 ? request.slice(0, headEnd >> 1) : request.slice(0, -100));
    if (n % GROUP === GROUP - 1) await pause(GROUP_MS);
  }
  return { readers, halves };
}

/** Never reads. A connection that the server cuts is opened again, as an attacker would. */
function keepOpen(port: number, bytes: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  socket.pause();
  socket.write(bytes);
  socket.once('close', () => setTimeout(keepOpen, 1_000, port, bytes));
  return socket;
}

process.on('message', async (order: SlowOrder) => process.send?.(await hold(order)));
process.on('disconnect', () => process.exit());
