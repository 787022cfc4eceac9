/** Members of configured objects as columns of their tables, and back. Most have the same name and value on both sides. */
import { formatNanos, parsePpm } from '../core/index.ts';

const FACTOR = /(?:^|_)multiplier$/;
const PPM = '_ppm';

const columnOf = (name: string): string => (name === 'group' ? 'group_id' : FACTOR.test(name) ? name + PPM : name);

export const columnNames = (members: readonly string[]): string[] => members.map(columnOf);

/** Factors are parts per million, and objects JSON. An undefined member keeps what is stored. */
export const columnsOf = (members: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [columnOf(name), storedValue(name, value)]));

function storedValue(name: string, value: unknown): unknown {
  if (typeof value === 'string' && FACTOR.test(name)) return parsePpm(value);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : value;
}

type MemberName<K extends string> = K extends 'group_id' ? 'group' : K extends `${infer N}_ppm` ? N : K;
type Member<K, V> = K extends `${string}_ppm` ? string : V extends Date ? string : V;

/** Times as text. */
export const membersOf = <R extends object>(row: R) =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => memberOf(name, value))) as {
    [K in keyof R & string as MemberName<K>]: Member<K, R[K]>;
  };

function memberOf(name: string, value: unknown): [string, unknown] {
  if (name === 'group_id') return ['group', value];
  if (value instanceof Date) return [name, value.toISOString()];
  if (!name.endsWith(PPM)) return [name, value];
  return [name.slice(0, -PPM.length), formatNanos(BigInt(value as bigint) * 1000n)];
}
