/**
 * How tables are written as text: words with a space between them, or a row a line. Names stay types, so that a
 * misspelt one does not compile.
 */

import { words } from './words.ts';

export { words };
export type Words<S extends string, W = never> = S extends `${infer A} ${infer B}` ? Words<B, W | A> : W | S;

/** Words of the form `name:value`. */
export const pairsIn = (...lines: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(words(...lines).map((pair) => pair.split(':')));

/** One value for all names, with spaces between. */
export const each = <const V, const S extends string>(value: V, ...names: readonly S[]) =>
  Object.fromEntries(words(...names).map((name) => [name, value])) as Readonly<Record<Words<S>, V>>;

/** The value for each name, by the names of every value with spaces between. */
export const byName = <V extends string>(names: { readonly [K in V]?: string }): ReadonlyMap<string, V> => {
  const rows = Object.entries(names) as [V, string][];
  return new Map(rows.flatMap(([value, list]) => list.split(' ').map((name) => [name, value])));
};

export type Lines<S extends string, L = never> = S extends `${infer A}\n${infer B}` ? Lines<B, L | A> : L | S;
/** Lines that begin with a space go on; those that begin with `#` are comments. */
export const linesOf = (text: string): string[] =>
  text
    .trim()
    .split(/\n(?=\S)/)
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.replace(/\n\s+/g, ' '));

type NameOf<L> = L extends ` ${string}` | `#${string}` ? never : L extends `${infer N}: ${string}` ? N : never;
export type NamesIn<S extends string> = NameOf<Lines<S>>;
/** Rows by name. A line is `name: cells`, with ` | ` between the cells. */
export const rowsIn = <const S extends string, R>(text: S, read: (cells: readonly string[], name: string) => R) =>
  Object.fromEntries(
    linesOf(text).map((line) => {
      const [, name = '', cells = ''] = /^(\S+): (.*)$/.exec(line) ?? [];
      return [name, read(withCode(cells).split(' | '), name)];
    }),
  ) as Readonly<Record<NamesIn<S>, R>>;

/** What stands in quotes, between backticks. An apostrophe inside of a word stays. */
export const withCode = (text: string): string => text.replace(/(?<!\w)'([^']+)'(?!\w)/g, '`$1`');
