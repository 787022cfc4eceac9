/** A baseline JPEG writer for the colour bars. Every block has one colour, so only its mean value is coded. */
import { BitWriter } from './bits.ts';
import { colorAt } from './picture.ts';

const BLOCK = 8;
/** The mean of a block is multiplied by 8 in the cosine transform; a quantiser of 8 makes it exact. */
const QUANTISER = 8;
const COMPONENTS = [1, 2, 3];
/** Number of Huffman codes per length, 1 to 16: twelve codes of four bits, for differences of 0 to 11 bits. */
const DC_CODE_LENGTHS = [0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const DC_CODE_BITS = 4;
const DC_SYMBOLS = Array.from({ length: 12 }, (_, size) => size);
/** One code of one bit: end of block. */
const AC_CODE_LENGTHS = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

export function barsJpeg(width: number, height: number, shift: number): Buffer {
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, [...Buffer.from('JFIF\0', 'latin1'), 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    segment(0xdb, [0, ...Array.from({ length: 64 }, () => QUANTISER)]),
    segment(0xc0, [8, ...u16(height), ...u16(width), 3, ...COMPONENTS.flatMap((id) => [id, 0x11, 0])]),
    segment(0xc4, [0x00, ...DC_CODE_LENGTHS, ...DC_SYMBOLS]),
    segment(0xc4, [0x10, ...AC_CODE_LENGTHS, 0]),
    segment(0xda, [3, ...COMPONENTS.flatMap((id) => [id, 0]), 0, 63, 0]),
    scan(width, height, shift),
    Buffer.from([0xff, 0xd9]),
  ]);
}

function scan(width: number, height: number, shift: number): Buffer {
  const out = new BitWriter();
  const before = [0, 0, 0];
  for (let y = 0; y < height; y += BLOCK) {
    for (let x = 0; x < width; x += BLOCK) {
      for (const [component, level] of colorAt(x, width, shift).jpeg.entries()) {
        const mean = level - 128;
        writeDifference(out, mean - (before[component] ?? 0));
        before[component] = mean;
        out.bits(0, 1); // end of block
      }
    }
  }
  out.align(1);
  return stuffed(out.bytes);
}

function writeDifference(out: BitWriter, difference: number): void {
  const size = 32 - Math.clz32(Math.abs(difference));
  out.bits(size, DC_CODE_BITS);
  // Negative values are written as the complement of their magnitude.
  out.bits(difference < 0 ? difference + (1 << size) - 1 : difference, size);
}

/** A zero byte after 0xff keeps data from looking like a marker. */
function stuffed(bytes: Buffer): Buffer {
  return Buffer.from([...bytes].flatMap((byte) => (byte === 0xff ? [byte, 0] : [byte])));
}

function segment(marker: number, data: number[]): Buffer {
  return Buffer.from([0xff, marker, ...u16(data.length + 2), ...data]);
}

function u16(value: number): [number, number] {
  return [value >> 8, value & 255];
}
