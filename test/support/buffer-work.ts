/**
 * Counts the bytes that Buffer methods copy, search or decode: a measure of work that does not depend on the machine.
 */

const { concat } = Buffer;
const { copy, indexOf, toString: decode } = Buffer.prototype;

/** Runs `work` synchronously and returns the number of bytes that Buffer methods handled. */
export function countBufferBytes(work: () => void): number {
  let bytes = 0;
  Buffer.concat = (list, total) => {
    const joined = concat(list, total);
    bytes += joined.length;
    return joined;
  };
  Buffer.prototype.copy = function (this: Buffer, ...parameters: Parameters<typeof copy>) {
    const copied = copy.apply(this, parameters);
    bytes += copied;
    return copied;
  };
  Buffer.prototype.indexOf = function (
    this: Buffer,
    value: string | number | Uint8Array,
    from?: number | BufferEncoding,
  ) {
    bytes += this.length - (typeof from === 'number' ? from : 0);
    return indexOf.call(this, value, from as number);
  };
  Buffer.prototype.toString = function (this: Buffer, encoding?: BufferEncoding, start = 0, end = this.length) {
    bytes += end - start;
    return decode.call(this, encoding, start, end);
  };
  try {
    work();
  } finally {
    Buffer.concat = concat;
    Object.assign(Buffer.prototype, { copy, indexOf, toString: decode });
  }
  return bytes;
}

/** Delivers `text` to the readers of a socket in reads of one byte. */
export function drip(socket: { emit(event: 'data', bytes: Buffer): boolean }, text: string): void {
  for (const byte of Buffer.from(text, 'latin1')) socket.emit('data', Buffer.from([byte]));
}
