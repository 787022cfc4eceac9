/** Strict Base64 (RFC 4648 section 4) in place: checks and measures data without decoding it, and decodes only what is read. */
import type { ByteSource } from './byte-source.ts';

const PADDING = 0x3d;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** 0xff for bytes outside the alphabet. */
const VALUES = new Uint8Array(256).fill(0xff);
for (let n = 0; n < ALPHABET.length; n += 1) VALUES[ALPHABET.charCodeAt(n)] = n;

/**
 * Length of the decoded data; undefined when the text is not strict Base64: white space, another alphabet, missing or surplus
 * padding, or bits set in the last character that no byte uses.
 */
export function decodedLength(text: Uint8Array): number | undefined {
  const { length } = text;
  if (length % 4 !== 0) return undefined;
  const padding = text[length - 1] !== PADDING ? 0 : text[length - 2] !== PADDING ? 1 : 2;
  const end = length - padding;
  let seen = 0;
  for (let n = 0; n < end; n += 1) seen |= VALUES[text[n] ?? 0] ?? 0xff;
  if (seen > 0x3f) return undefined;
  const unusedBits = padding === 0 ? 0 : padding === 1 ? 0x03 : 0x0f;
  if (((VALUES[text[end - 1] ?? 0] ?? 0) & unusedBits) !== 0) return undefined;
  return (length / 4) * 3 - padding;
}

/** Decoded in blocks of this many bytes; a multiple of 3, so that every block starts at a group of four characters. */
const BLOCK_BYTES = 48 * 1024;

/**
 * Strict Base64 read as bytes, for readers that move forward. Keeps two neighbouring blocks, because a reader that compares both sides
 * of a block boundary would otherwise decode them again and again.
 */
export class Base64Source implements ByteSource {
  readonly length: number;
  readonly #text: Buffer;
  readonly #blocks: [Block, Block] = [NO_BLOCK, NO_BLOCK];

  constructor(text: Buffer, length: number) {
    this.#text = text;
    this.length = length;
  }

  at(offset: number): number | undefined {
    if (offset < 0 || offset >= this.length) return undefined;
    const number = Math.floor(offset / BLOCK_BYTES);
    const slot = number % 2 === 0 ? 0 : 1;
    if (this.#blocks[slot].number !== number) this.#blocks[slot] = this.#decode(number);
    return this.#blocks[slot].bytes[offset % BLOCK_BYTES];
  }

  #decode(number: number): Block {
    const chars = (BLOCK_BYTES / 3) * 4;
    return {
      number,
      bytes: Buffer.from(this.#text.toString('latin1', number * chars, (number + 1) * chars), 'base64'),
    };
  }
}

interface Block {
  readonly number: number;
  readonly bytes: Buffer;
}
const NO_BLOCK: Block = { number: -1, bytes: Buffer.alloc(0) };
