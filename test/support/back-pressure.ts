/**
 * Back-pressure towards a client that does not read: what the gateway keeps for it. What the kernel takes differs
 * between machines.
 */
import { Socket } from 'node:net';
import { until } from './wait.ts';

/** Checks in a row without any progress, with a turn of the event loop between them. */
const CHECKS = 25;

/**
 * Waits until neither the provider nor the gateway can send more, and returns the bytes that the gateway has written
 * and the kernel has not taken. `sent` is what the provider has sent. All of them are in this process.
 */
export async function bufferedFor(client: Socket, sent: () => number): Promise<number> {
  const accepted = await until('the connection', () => acceptedSocket(client));
  let before = '';
  let same = 0;
  await until('back-pressure', () => {
    const now = [sent(), accepted.bytesWritten, accepted.writableLength].join();
    same = now === before && accepted.writableLength > 0 ? same + 1 : 0;
    before = now;
    return same >= CHECKS;
  });
  return accepted.writableLength;
}

/** The gateway's end of a connection. A socket has no ports before it is connected. */
const acceptedSocket = ({ localPort, remotePort, connecting }: Socket): Socket | undefined =>
  connecting
    ? undefined
    : activeHandles().find(
        (handle): handle is Socket =>
          handle instanceof Socket && handle.remotePort === localPort && handle.localPort === remotePort,
      );

/** Node has no documented way to list the sockets of the process. */
const activeHandles = (): readonly unknown[] =>
  (process as unknown as { _getActiveHandles(): readonly unknown[] })._getActiveHandles();
