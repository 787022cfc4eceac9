/**
 * Opens boxes of NaCl (XSalsa20 and Poly1305), in which LiteLLM keeps credentials; OpenSSL has neither. It only opens:
 * nothing here is encrypted with it. Sources: Bernstein, "Extending the Salsa20 nonce" and "Cryptography in NaCl",
 * section 9.
 */
import { timingSafeEqual } from 'node:crypto';

const NONCE_BYTES = 24;
const TAG_BYTES = 16;
const BLOCK_BYTES = 64;

/** The text of `nonce || tag || ciphertext`; undefined when the key is another one. */
export function openBox(box: Buffer, key: Buffer): string | undefined {
  if (box.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = box.subarray(0, NONCE_BYTES);
  const tag = box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const sealed = box.subarray(NONCE_BYTES + TAG_BYTES);
  const stream = xsalsa20(sealed.length + 32, nonce, key);
  if (!timingSafeEqual(poly1305(sealed, stream.subarray(0, 32)), tag)) return undefined;
  return Buffer.from(sealed.map((byte, n) => byte ^ (stream[n + 32] ?? 0))).toString('utf8');
}

/** "expand 32-byte k" in four words. */
const SIGMA = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;

/** Indexes of the words of a quarter round: the columns, then the rows. */
const ROUNDS = ['048c', '59d1', 'ae26', 'f37b', '0123', '5674', 'ab89', 'fcde'].map((indexes) =>
  [...indexes].map((digit) => Number.parseInt(digit, 16)),
);

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

function mix(input: Uint32Array): Uint32Array {
  const x = Uint32Array.from(input);
  const add = (to: number, [a, b]: readonly [number, number], bits: number): void => {
    x[to] = (x[to] ?? 0) ^ rotate(((x[a] ?? 0) + (x[b] ?? 0)) | 0, bits);
  };
  for (let round = 0; round < 10; round += 1)
    for (const [a = 0, b = 0, c = 0, d = 0] of ROUNDS) {
      add(b, [a, d], 7);
      add(c, [b, a], 9);
      add(d, [c, b], 13);
      add(a, [d, c], 18);
    }
  return x;
}

/** Four words of the input go between the two halves of the key, with the constants on the diagonal. */
function stateOf(key: Buffer, input: Buffer): Uint32Array {
  const [k, i] = [(n: number) => key.readUInt32LE(4 * n), (n: number) => input.readUInt32LE(4 * n)];
  const [s0, s1, s2, s3] = SIGMA;
  return Uint32Array.of(s0, k(0), k(1), k(2), k(3), s1, i(0), i(1), i(2), i(3), s2, k(4), k(5), k(6), k(7), s3);
}

const bytesOf = (words: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * words.length);
  for (const [n, word] of words.entries()) bytes.writeUInt32LE(word >>> 0, 4 * n);
  return bytes;
};

function xsalsa20(length: number, nonce: Buffer, key: Buffer): Buffer {
  const mixed = mix(stateOf(key, nonce.subarray(0, 16)));
  const subkey = bytesOf([0, 5, 10, 15, 6, 7, 8, 9].map((n) => mixed[n] ?? 0));
  const blocks = Array.from({ length: Math.ceil(length / BLOCK_BYTES) }, (_, n) => {
    const state = stateOf(subkey, Buffer.concat([nonce.subarray(16), bytesOf([n, 0])]));
    const out = mix(state);
    return bytesOf([...out].map((word, index) => (word + (state[index] ?? 0)) | 0));
  });
  return Buffer.concat(blocks).subarray(0, length);
}

const PRIME = (1n << 130n) - 5n;
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn;

const numberOf = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`);

/** Its time depends on the message, which is why it must not authenticate what a caller sends. */
function poly1305(message: Buffer, key: Buffer): Buffer {
  const r = numberOf(key.subarray(0, 16)) & CLAMP;
  let sum = 0n;
  for (let at = 0; at < message.length; at += 16) {
    const block = message.subarray(at, at + 16);
    sum = ((sum + numberOf(block) + (1n << BigInt(8 * block.length))) * r) % PRIME;
  }
  const tag = (sum + numberOf(key.subarray(16, 32))) % (1n << 128n);
  return Buffer.from(tag.toString(16).padStart(32, '0'), 'hex').reverse();
}
