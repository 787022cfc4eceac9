/** Strict reader of query parameters (V 4): a missing, repeated or unknown one is an error unless it may be. */
import { fail } from '../core/index.ts';

interface IntegerRange {
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

export class QueryReader {
  readonly #query: URLSearchParams;
  readonly #read = new Set<string>();

  constructor(query: string) {
    this.#query = new URLSearchParams(query);
  }

  integer(name: string, { min, max, default: fallback }: IntegerRange): number {
    const text = this.#single(name);
    if (text === undefined) return fallback;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw invalid(name, `expected an integer from ${min} to ${max}`);
    return value;
  }

  text(name: string): string | undefined {
    const text = this.#single(name);
    if (text?.includes('\0')) throw invalid(name, 'must not contain NUL characters');
    return text;
  }

  /** A repeatable parameter with a closed vocabulary; undefined when it is absent. */
  words<T extends string>(name: string, vocabulary: readonly T[]): readonly T[] | undefined {
    const given = this.#all(name);
    const unknown = given.find((word) => !vocabulary.includes(word as T));
    if (unknown !== undefined) throw invalid(name, `expected one of ${vocabulary.join(', ')}`);
    return given.length === 0 ? undefined : (given as T[]);
  }

  /** A repeatable parameter; undefined when it is absent. */
  texts(name: string, max: number): readonly string[] | undefined {
    const given = this.#all(name);
    if (given.length > max) throw invalid(name, `given ${given.length} times; at most ${max} are allowed`);
    // A text with a NUL character equals no stored one, and PostgreSQL rejects it.
    return given.length === 0 ? undefined : given.filter((text) => !text.includes('\0'));
  }

  /** Call it last: everything that was not read is unknown. */
  rejectUnknown(): void {
    for (const name of this.#query.keys())
      if (!this.#read.has(name)) throw invalid(name.slice(0, 80), 'unknown parameter; remove it');
  }

  #single(name: string): string | undefined {
    const given = this.#all(name);
    if (given.length > 1) throw invalid(name, 'given more than once');
    return given[0];
  }

  #all(name: string): readonly string[] {
    this.#read.add(name);
    return this.#query.getAll(name);
  }
}

const invalid = (name: string, problem: string) => fail('invalid_request', `${name}: ${problem}.`, { param: name });
