/** Members of a request on which its bound depends. One of the wrong type is rejected: providers may read "8" as 8. */
import { failAt } from '../../core/index.ts';

export type Read = (name: string) => unknown;
export type MemberMap = Readonly<Record<string, unknown>>;

/** Null means absent, as in every dialect. */
export function countIn(value: unknown, path: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number') return value;
  throw failAt('invalid_request', path, `expected a number, got ${kindOf(value)}.`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export const objectIn = (value: unknown): MemberMap | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as MemberMap) : undefined;

export interface Lever<Bounds> {
  readonly param: string;
  /** What counts now: the value of the request, or the one that is assumed without it. */
  readonly value: number;
  readonly min: number;
  boundsWith(value: number): Bounds;
}
