/** DNS server on loopback that responds from a table; other names do not exist. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface Zone {
  readonly [host: string]: {
    readonly A?: readonly string[];
    /** With all eight groups written out. */
    readonly AAAA?: readonly string[];
    readonly CNAME?: string;
    /** Never responds to queries of this type. */
    readonly mute?: 'A' | 'AAAA';
  };
}

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
const CNAME = 5;
const NO_SUCH_NAME = 3;

export async function startNameServer(zone: Zone): Promise<{ readonly address: string; close(): void }> {
  const socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    const response = responseTo(question, zone);
    if (response) socket.send(response, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() };
}

function responseTo(message: Buffer, zone: Zone): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let size = message.readUInt8(at); size > 0; size = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  const type = TYPES[message.readUInt16BE(at + 1)] ?? 'A';
  const host = labels.join('.').toLowerCase();
  const row = zone[host];
  if (row?.mute === type) return undefined;
  const target = row?.CNAME ?? host;
  const addresses = zone[target]?.[type] ?? [];
  const records = [
    ...(row?.CNAME ? [record(host, CNAME, nameOf(row.CNAME))] : []),
    ...addresses.map((address) => record(target, type === 'A' ? 1 : 28, bytesOf(address))),
  ];
  const head = Buffer.from(message.subarray(0, 12));
  head.writeUInt16BE(0x8180 | (row ? 0 : NO_SUCH_NAME), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, message.subarray(12, at + 5), ...records]);
}

/** A resource record of class IN with a TTL of 0 seconds. */
function record(host: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameOf(host), fixed, data]);
}

const nameOf = (host: string): Buffer =>
  Buffer.concat([
    ...host.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
    Buffer.alloc(1),
  ]);

const bytesOf = (address: string): Buffer =>
  address.includes(':')
    ? Buffer.from(
        address
          .split(':')
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      )
    : Buffer.from(address.split('.').map(Number));
