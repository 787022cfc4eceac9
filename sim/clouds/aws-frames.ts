/** Frames of AWS: headers and a payload, with two checksums. */
import { crc32 } from 'node:zlib';

export function awsMessage(given: Readonly<Record<string, string>>, content: object): Buffer {
  const headers = Buffer.concat(
    Object.entries({ ...given, ':content-type': 'application/json' }).map(([name, value]) =>
      Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7, 0, value.length]),
        Buffer.from(value),
      ]),
    ),
  );
  const payload = Buffer.from(JSON.stringify(content));
  const frame = Buffer.alloc(16 + headers.length + payload.length);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt32BE(headers.length, 4);
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  headers.copy(frame, 12);
  payload.copy(frame, 12 + headers.length);
  frame.writeUInt32BE(crc32(frame.subarray(0, frame.length - 4)), frame.length - 4);
  return frame;
}
