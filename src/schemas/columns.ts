/** Members of configured objects as columns of their tables, and back. Most have one name and value on both sides. */
import type { z } from 'zod';
import { formatNanos, parsePpm } from '../core/index.ts';

const FACTOR = /(?:^|_)multiplier$/;
const PPM = '_ppm';

/** Stored as `max_concurrency` of an account without a limit: version 0.2.0 gives one with null no calls (ADR 27). */
export const UNLIMITED_CONCURRENCY = 2_147_483_647;

function columnOf(name: string): string {
  if (name === 'group') return 'group_id';
  return FACTOR.test(name) ? name + PPM : name;
}

export const columnNames = (members: readonly string[]): string[] => members.map(columnOf);

/** Factors are parts per million, and objects JSON. An undefined member keeps what is stored. */
export const columnsOf = (members: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [columnOf(name), storedValue(name, value)]));

function storedValue(name: string, value: unknown): unknown {
  if (typeof value === 'string' && FACTOR.test(name)) return parsePpm(value);
  if (name === 'max_concurrency' && value === null) return UNLIMITED_CONCURRENCY;
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : value;
}

type MemberName<K extends string> = K extends 'group_id' ? 'group' : K extends `${infer N}_ppm` ? N : K;
type Member<K, V> = K extends `${string}_ppm`
  ? string
  : K extends 'max_concurrency'
    ? V | null
    : V extends Date
      ? string
      : V;

/** Times as text. */
export const membersOf = <R extends object>(row: R) =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => memberOf(name, value))) as {
    [K in keyof R & string as MemberName<K>]: Member<K, R[K]>;
  };

function memberOf(name: string, value: unknown): [string, unknown] {
  if (name === 'group_id') return ['group', value];
  if (name === 'max_concurrency' && value === UNLIMITED_CONCURRENCY) return [name, null];
  if (value instanceof Date) return [name, value.toISOString()];
  if (!name.endsWith(PPM)) return [name, value];
  return [name.slice(0, -PPM.length), formatNanos(BigInt(value as bigint) * 1000n)];
}

/**
 * What a schema shows of a row: of `own`, or of the column with the member's name, with `_id` or `_nanos`. Never any
 * other column.
 */
export const shownRow = <S extends z.ZodObject>(
  schema: S,
  row: object,
  own: { readonly [K in keyof z.infer<S>]?: z.infer<S>[K] | undefined } = {},
): z.infer<S> => {
  const columns: Readonly<Record<string, unknown>> = { ...row };
  const shownAt = (name: string): unknown => {
    if (name in own) return own[name as keyof typeof own];
    const [column = name] = [name, `${name}_id`, `${name}_nanos`].filter((known) => known in columns);
    const value = columns[column];
    if (value instanceof Date) return value.toISOString();
    if (typeof value !== 'bigint') return value;
    return column.endsWith('_nanos') ? formatNanos(value) : String(value);
  };
  const members = Object.keys(schema.shape).map((name) => [name, shownAt(name)]);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined)) as z.infer<S>;
};
