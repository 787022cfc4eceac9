/** Makes image files larger without changing the picture, with data that decoders skip. */
import { createCipheriv } from 'node:crypto';
import { pngChunk } from '../png.ts';
import type { Picture } from './picture.ts';

/** Adds data until the file has at least `target` bytes. */
export function padFile(file: Buffer, picture: Picture, target: number): Buffer {
  const missing = target - file.length;
  return missing <= 0 ? file : PADDINGS[picture.format](file, missing, picture);
}

const PADDINGS = { png: padPng, jpeg: padJpeg, webp: padWebp };

// Decoders reject ancillary chunks above some 8 MB.
const PNG_CHUNK = 4 << 20;
const PNG_HEADER_END = 33;

function padPng(file: Buffer, missing: number): Buffer {
  const chunks = divide(missing, PNG_CHUNK, 12).map((size) => pngChunk('siMp', noise(size)));
  return Buffer.concat([file.subarray(0, PNG_HEADER_END), ...chunks, file.subarray(PNG_HEADER_END)]);
}

const JPEG_COMMENT = 65_533;

function padJpeg(file: Buffer, missing: number): Buffer {
  // The first segment after the start marker is the JFIF header, which must stay first.
  const at = 4 + file.readUInt16BE(4);
  const comments = divide(missing, JPEG_COMMENT, 4).flatMap((size) => {
    const head = Buffer.from([0xff, 0xfe, 0, 0]);
    head.writeUInt16BE(size + 2, 2);
    return [head, noise(size)];
  });
  return Buffer.concat([file.subarray(0, at), ...comments, file.subarray(at)]);
}

const RIFF_HEADER = 12;

/** Only the extended format, which starts with a VP8X chunk, allows chunks of other types. */
function padWebp(file: Buffer, missing: number, { width, height }: Picture): Buffer {
  const isExtended = file.toString('latin1', RIFF_HEADER, RIFF_HEADER + 4) === 'VP8X';
  const canvas = Buffer.alloc(10);
  canvas.writeUIntLE(width - 1, 4, 3);
  canvas.writeUIntLE(height - 1, 7, 3);
  // Chunks have an even length.
  const padding = riffChunk('SIMP', noise(missing + (missing % 2)));
  const chunks = [...(isExtended ? [] : [riffChunk('VP8X', canvas)]), file.subarray(RIFF_HEADER), padding];
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const header = Buffer.from(file.subarray(0, RIFF_HEADER));
  header.writeUInt32LE(length + 4, 4);
  return Buffer.concat([header, ...chunks]);
}

function riffChunk(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data]);
}

/** Sizes of blocks of at most `largest` bytes which, with `overhead` bytes each, have `total` bytes or a few more. */
function divide(total: number, largest: number, overhead: number): number[] {
  const sizes: number[] = [];
  for (let left = total; left > 0; left -= overhead + (sizes.at(-1) ?? 0)) {
    sizes.push(Math.min(largest, Math.max(0, left - overhead)));
  }
  return sizes;
}

/** The same bytes every time, which neither compress nor repeat. */
function noise(length: number): Buffer {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(length));
}
