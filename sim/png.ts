/** A PNG writer. */
import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

type Rgb = readonly [red: number, green: number, blue: number];

/** A gradient whose blue channel differs between images. */
export function gradientPng(width: number, height: number, blue: number): Buffer {
  return rgbPng(width, height, (x, y) => [Math.floor((x * 255) / width), Math.floor((y * 255) / height), blue & 255]);
}

/** A valid RGB PNG of the colours that `colorAt` returns. */
export function rgbPng(width: number, height: number, colorAt: (x: number, y: number) => Rgb): Buffer {
  const row = 1 + width * 3;
  const pixels = Buffer.alloc(row * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) pixels.set(colorAt(x, y), y * row + 1 + x * 3);
  }
  return pngFile(width, height, RGB, deflateSync(pixels));
}

export interface Checker {
  width: number;
  height: number;
  /** Every other tile is transparent. */
  isTransparent: boolean;
  blue: number;
}

const TILE = 64;
const SAME_AS_ABOVE = 2;

/** A checkerboard. Its rows repeat, so that even a large one is written in milliseconds. */
export function checkerPng({ width, height, isTransparent, blue }: Checker): Buffer {
  const channels = isTransparent ? 4 : 3;
  const row = 1 + width * channels;
  const pixels = Buffer.alloc(row * height);
  for (let y = 0; y < height; y++) {
    if (y % TILE !== 0) {
      pixels[y * row] = SAME_AS_ABOVE;
      continue;
    }
    for (let x = 0; x < width; x++) {
      const isDark = (Math.floor(x / TILE) + y / TILE) % 2 === 0;
      pixels.set([isDark ? 64 : 192, isDark ? 96 : 208, blue], y * row + 1 + x * channels);
      if (isTransparent && isDark) pixels[y * row + 1 + x * channels + 3] = 255;
    }
  }
  return pngFile(width, height, isTransparent ? RGBA : RGB, deflateSync(pixels, { level: 1 }));
}

/** Colour types of PNG. */
const RGB = 2;
const RGBA = 6;

function pngFile(width: number, height: number, colorType: number, pixels: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits per channel, default compression, filter and interlace.
  header.set([8, colorType, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    pngChunk('IHDR', header),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

export function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
