/** The version of this package, and the order of versions. */
import { readFileSync } from 'node:fs';

export const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

const SEMANTIC = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[\w.-]+)?(?:\+[\w.-]+)?$/;

/** By number: 0.10.0 is later than 0.9.0. A pre-release is earlier than its release. */
export function isEarlier(one: string, other: string): boolean {
  const [first, second] = [parse(one), parse(other)];
  const differing = first.numbers.findIndex((number, n) => number !== second.numbers[n]);
  if (differing === -1) return first.isPrerelease && !second.isPrerelease;
  return (first.numbers[differing] ?? 0) < (second.numbers[differing] ?? 0);
}

/** Three numbers, as every release has them. */
export const isReleaseVersion = (text: string): boolean => SEMANTIC.test(text) && /^[\d.]+$/.test(text);

function parse(text: string): { readonly numbers: readonly number[]; readonly isPrerelease: boolean } {
  const match = SEMANTIC.exec(text);
  if (!match) throw new Error(`"${text}" is not a semantic version.`);
  const [, major, minor, patch, prerelease] = match;
  return { numbers: [Number(major), Number(minor), Number(patch)], isPrerelease: prerelease !== undefined };
}
