/** Arguments of a function call that come piece by piece: values at JSON paths, long strings over several pieces. */
import type { JsonObject } from '../../hub/types.ts';
import { isObject, maybeList, maybeString } from '../../wire/read.ts';

/** What has been put together so far. */
export interface PartialArgs {
  readonly root: Record<string, unknown>;
  /** The path of a string that goes on in the next piece. */
  growing?: string | undefined;
}

/** Deeper or longer than any arguments are; a path must not make us allocate. */
const MAX_STEPS = 64;
const MAX_INDEX = 10_000;

export function takePartialArgs(args: PartialArgs, call: JsonObject): void {
  for (const piece of maybeList(call.partialArgs).filter(isObject)) {
    const path = maybeString(piece.jsonPath) ?? '$';
    const steps = stepsOf(path);
    if (steps === undefined) continue;
    const value = saidBy(piece);
    if (value !== undefined) put(args.root, steps, value, args.growing === path);
    args.growing = piece.willContinue === true ? path : undefined;
  }
}

function saidBy(piece: JsonObject): string | number | boolean | null | undefined {
  const { stringValue, numberValue, boolValue } = piece;
  if (typeof stringValue === 'string') return stringValue;
  if (typeof numberValue === 'number') return numberValue;
  if (typeof boolValue === 'boolean') return boolValue;
  return 'nullValue' in piece ? null : undefined;
}

/** `$.a.b[0]['c d']`; undefined for what is no such path. */
function stepsOf(path: string): (string | number)[] | undefined {
  if (!PATH.test(path)) return undefined;
  const steps = [...path.matchAll(STEP)].map(([, name, quoted, index]) =>
    index === undefined ? (name ?? quoted ?? '') : Number(index),
  );
  const isSound =
    steps.length <= MAX_STEPS && steps.every((step) => step !== '__proto__' && !(Number(step) > MAX_INDEX));
  return isSound ? steps : undefined;
}
const PATH = /^\$(?:\.[^.[\]'"]+|\[['"][^'"]*['"]\]|\[\d+\])+$/;
const STEP = /\.([^.[\]'"]+)|\[['"]([^'"]*)['"]\]|\[(\d+)\]/g;

type Container = Record<string | number, unknown>;

function put(root: Container, steps: readonly (string | number)[], value: unknown, goesOn: boolean): void {
  let at = root;
  for (const [n, step] of steps.slice(0, -1).entries()) {
    const next = at[step];
    if (typeof next !== 'object' || next === null) at[step] = typeof steps[n + 1] === 'number' ? [] : {};
    at = at[step] as Container;
  }
  const last = steps.at(-1) ?? '';
  const before = at[last];
  at[last] = goesOn && typeof before === 'string' && typeof value === 'string' ? before + value : value;
}
