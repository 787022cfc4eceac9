/** Choices and ids that look random but follow from the seed, so that every run of a test is the same. */
import { createHash } from 'node:crypto';

const ID_LETTERS = '23456789bcdfghjkmnpqrstvwxz';
const BEIJING_OFFSET_MS = 8 * 3_600_000;

export class Chance {
  readonly #seed: string;
  readonly #counts = new Map<string, number>();

  constructor(seed: string) {
    this.#seed = seed;
  }

  /** A whole number from 0 to `limit` - 1; the same `about` gives the same number. */
  number(about: string, limit: number): number {
    return Number.parseInt(this.hex(about).slice(0, 12), 16) % limit;
  }

  hex(about: string): string {
    return createHash('sha256').update(`${this.#seed}:${about}`).digest('hex');
  }

  /** `cgt-20260131235959-x7k2p`: the time in Beijing and five letters. */
  id(prefix: string, now: number): string {
    const about = `${prefix}${this.#next(prefix)}`;
    const letters = Array.from({ length: 5 }, (_, place) =>
      ID_LETTERS.charAt(this.number(`${about}.${place}`, ID_LETTERS.length)),
    );
    return `${prefix}-${beijing(now)}-${letters.join('')}`;
  }

  requestId(now: number): string {
    return `02${now}${this.hex(`request${this.#next('request')}`).slice(0, 24)}`;
  }

  #next(name: string): number {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count;
  }
}

function beijing(now: number): string {
  return new Date(now + BEIJING_OFFSET_MS).toISOString().replaceAll(/\D/g, '').slice(0, 14);
}
