import type { StepBudget } from '../step-budget.ts';

/** Bytes of a file, read one at a time where they are needed, so that long media stay as they came. */
export interface FileBytes {
  readonly size: number;
  /** Zero beyond the end. */
  at(index: number): number;
}

const VALUES = new Uint8Array(128);
for (const [value, char] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  VALUES[char.charCodeAt(0)] = value;
VALUES['-'.charCodeAt(0)] = VALUES['+'.charCodeAt(0)] ?? 0;
VALUES['_'.charCodeAt(0)] = VALUES['/'.charCodeAt(0)] ?? 0;

/**
 * A file in base64, of which only the bytes that are asked for are
 * decoded. `codeAt` returns the code of a character.
 */
export class Base64File implements FileBytes {
  readonly size: number;
  readonly #codeAt: (index: number) => number | undefined;

  /** `length` counts characters, padding included. */
  constructor(length: number, codeAt: (index: number) => number | undefined) {
    this.#codeAt = codeAt;
    const padding = (codeAt(length - 1) === 0x3d ? 1 : 0) + (codeAt(length - 2) === 0x3d ? 1 : 0);
    this.size = Math.max(0, Math.floor(((length - padding) * 3) / 4));
  }

  at(index: number): number {
    if (index < 0 || index >= this.size) return 0;
    const place = index % 3;
    const char = ((index - place) / 3) * 4 + place;
    const shift = 2 * place;
    return ((this.#value(char) << (shift + 2)) | (this.#value(char + 1) >> (4 - shift))) & 0xff;
  }

  #value(index: number): number {
    return VALUES[this.#codeAt(index) ?? 0] ?? 0;
  }
}

export const hasText = (file: FileBytes, at: number, text: string): boolean => {
  for (let n = 0; n < text.length; n += 1) {
    if (file.at(at + n) !== text.charCodeAt(n)) return false;
  }
  return at + text.length <= file.size;
};

/** An unsigned integer of up to six bytes. */
export function uint(file: FileBytes, at: number, bytes: number, isLittleEndian = false): number {
  let value = 0;
  for (let n = 0; n < bytes; n += 1) value = value * 256 + file.at(at + (isLittleEndian ? bytes - 1 - n : n));
  return value;
}

/** Frames, boxes, samples or packets that are read of one file; a file with more has no known length. */
const MAX_FILE_STEPS = 250_000;

/** The steps of one file, which count into the budget of its body. */
export class FileSteps {
  readonly #body: StepBudget;
  #left = MAX_FILE_STEPS;

  constructor(body: StepBudget) {
    this.#body = body;
  }

  /** False when the file has more than is read of one. Throws when its body has. */
  take(steps = 1): boolean {
    if (steps > this.#left) return false;
    this.#left -= steps;
    this.#body.take(steps);
    return true;
  }
}
