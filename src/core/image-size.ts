/** Width and height of an image, read from the beginning of its file. */
import { hasSignature } from './media-signature.ts';

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Bytes within which the size is searched. In a JPEG, a preview and a colour profile may stand before it. */
export const MAX_IMAGE_HEAD = 256 * 1024;

/** Undefined for other formats than PNG, JPEG and WebP, and if the size is not in these bytes. */
export function imageSize(head: Buffer): ImageSize | undefined {
  try {
    if (hasSignature('image/png', head)) return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
    if (hasSignature('image/jpeg', head)) return jpegSize(head);
    return hasSignature('image/webp', head) ? webpSize(head) : undefined;
  } catch (error) {
    // A read beyond the end: the file is shorter than its format demands.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Segments of a JPEG follow each other; the size is in the frame header (SOF0 to SOF15 without DHT, JPG and DAC). */
function jpegSize(head: Buffer): ImageSize | undefined {
  let at = 2;
  while (head[at] === 0xff) {
    const marker = head.readUInt8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    at += 2 + head.readUInt16BE(at + 2);
  }
  return undefined;
}

/** The first chunk of a WebP is lossy, lossless or extended, each with its own header. */
function webpSize(head: Buffer): ImageSize | undefined {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = head.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}
