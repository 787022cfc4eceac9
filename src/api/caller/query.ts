/** Strict reader of query parameters (V 4): a missing, repeated or unknown one is an error unless it may be. */
import { failAt } from '../../core/index.ts';
import type { QueryRule, QueryTable } from '../../rules/index.ts';

interface IntegerRange {
  readonly min: number;
  readonly max: number;
  readonly default: number;
}

/** The values of a query by the table of its parameters; absent ones are undefined or have their default. */
export type QueryValues<T extends QueryTable> = { readonly [K in keyof T]: QueryValue<T[K]> };
type QueryValue<R extends QueryRule> = R extends { kind: 'integer' }
  ? number
  : R extends { kind: 'required' }
    ? string
    : R extends { kind: 'text' }
      ? string | undefined
      : R extends { kind: 'word' }
        ? R['vocabulary'][number]
        : R extends { kind: 'values' }
          ? readonly R['vocabulary'][number][] | undefined
          : readonly string[] | undefined;

export function readVideoQuery<T extends QueryTable>(query: string, table: T): QueryValues<T> {
  const reader = new QueryReader(query);
  const values = Object.entries(table).map(([name, rule]) => [name, readValue(reader, name, rule)]);
  reader.rejectUnknown();
  return Object.fromEntries(values);
}

function readValue(reader: QueryReader, name: string, rule: QueryRule): unknown {
  switch (rule.kind) {
    case 'integer':
      return reader.integer(name, rule);
    case 'text':
      return reader.text(name);
    case 'required':
      return reader.required(name);
    case 'word':
      return reader.word(name, rule.vocabulary) ?? rule.default;
    case 'values':
      return reader.values(name, rule.vocabulary);
    case 'texts':
      return reader.texts(name, rule.maxItems);
  }
}

class QueryReader {
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

  required(name: string): string {
    const text = this.text(name);
    if (text === undefined || text === '') throw invalid(name, 'is required');
    return text;
  }

  text(name: string): string | undefined {
    const text = this.#single(name);
    if (text?.includes('\0')) throw invalid(name, 'must not contain NUL characters');
    return text;
  }

  /** A parameter with a closed vocabulary; undefined when it is absent. */
  word<T extends string>(name: string, vocabulary: readonly T[]): T | undefined {
    this.#single(name);
    return this.values(name, vocabulary)?.[0];
  }

  /** A repeatable parameter with a closed vocabulary; undefined when it is absent. */
  values<T extends string>(name: string, vocabulary: readonly T[]): readonly T[] | undefined {
    const given = this.#all(name);
    const unknown = given.find((word) => !vocabulary.includes(word as T));
    if (unknown !== undefined) throw invalid(name, `expected one of ${vocabulary.join(', ')}`);
    return given.length === 0 ? undefined : (given as T[]);
  }

  /** A repeatable parameter; undefined when it is absent. */
  texts(name: string, max: number): readonly string[] | undefined {
    const given = this.#all(name);
    if (given.length > max) throw invalid(name, `given ${given.length} times; at most ${max} are allowed`);
    // PostgreSQL rejects a NUL character, and no stored text has one.
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

const invalid = (name: string, problem: string) => failAt('invalid_request', name, `${problem}.`);
