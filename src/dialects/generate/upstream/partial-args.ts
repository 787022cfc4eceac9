/** Assembly of streamed function arguments: values at JSON paths, long strings split over several pieces. */
import { isExactNumber, orderedObject } from '../../../core/index.ts';
import type { JsonObject } from '../../hub/types.ts';
import { isObject, maybeList, maybeString } from '../../wire/read.ts';

/** Arguments assembled so far. */
export interface PartialArgs {
  readonly root: Record<string, unknown>;
  /** Path of a string that continues in the next piece. */
  openPath?: string | undefined;
}

/** Above any real depth or length. Without limits one path could allocate huge arrays. */
const MAX_STEPS = 64;
const MAX_INDEX = 10_000;

/** Copies the members that arrived at once; pieces follow. */
export const openPartialArgs = ({ args }: JsonObject): PartialArgs => ({
  root: orderedObject(isObject(args) ? args : {}),
});

export function applyPartialArgs(args: PartialArgs, call: JsonObject): void {
  for (const piece of maybeList(call.partialArgs).filter(isObject)) {
    const path = maybeString(piece.jsonPath) ?? '$';
    const steps = stepsOf(path);
    if (steps === undefined) continue;
    const value = pieceValue(piece);
    if (value !== undefined) put(args.root, steps, value, args.openPath === path);
    args.openPath = piece.willContinue === true ? path : undefined;
  }
}

function pieceValue(piece: JsonObject): unknown {
  const { stringValue, numberValue, boolValue } = piece;
  if (typeof stringValue === 'string') return stringValue;
  if (typeof numberValue === 'number' || isExactNumber(numberValue)) return numberValue;
  if (typeof boolValue === 'boolean') return boolValue;
  return 'nullValue' in piece ? null : undefined;
}

/** Parses a path such as `$.a.b[0]['c d']`; undefined if malformed or above the limits. */
function stepsOf(path: string): (string | number)[] | undefined {
  if (!PATH.test(path)) return undefined;
  const steps = [...path.matchAll(STEP)].map(([, name, quoted, index]) =>
    index === undefined ? (name ?? quoted ?? '') : Number(index),
  );
  const isAllowed =
    steps.length <= MAX_STEPS && steps.every((step) => step !== '__proto__' && !(Number(step) > MAX_INDEX));
  return isAllowed ? steps : undefined;
}
const PATH = /^\$(?:\.[^.[\]'"]+|\[['"][^'"]*['"]\]|\[\d+\])+$/;
const STEP = /\.([^.[\]'"]+)|\[['"]([^'"]*)['"]\]|\[(\d+)\]/g;

type Container = Record<string | number, unknown>;

function put(root: Container, steps: readonly (string | number)[], value: unknown, isContinuation: boolean): void {
  let at = root;
  for (const [n, step] of steps.slice(0, -1).entries()) {
    const next = at[step];
    if (typeof next !== 'object' || next === null) at[step] = typeof steps[n + 1] === 'number' ? [] : orderedObject();
    at = at[step] as Container;
  }
  const last = steps.at(-1) ?? '';
  const before = at[last];
  at[last] = isContinuation && typeof before === 'string' && typeof value === 'string' ? before + value : value;
}
