/** The choice of the versions of a package that callers use: the newest one, and the newest one of the line before. */

const STABLE = /^(\d+)\.(\d+)(?:\.(\d+))?$/;

/**
 * Newest first: at most two versions. Pre-releases are left out. Below 1.0 every minor version is a line of its own.
 */
export function newestOfTwoLines(versions: readonly string[]): string[] {
  const stable = versions.filter((version) => STABLE.test(version)).sort((a, b) => compare(numbersOf(b), numbersOf(a)));
  const newest = stable[0];
  if (newest === undefined) return [];
  const previous = stable.find((version) => compare(lineOf(version), lineOf(newest)) < 0);
  return previous === undefined ? [newest] : [newest, previous];
}

const numbersOf = (version: string): number[] => (STABLE.exec(version) ?? []).slice(1).map((part) => Number(part ?? 0));

function lineOf(version: string): number[] {
  const [major = 0, minor = 0] = numbersOf(version);
  return major === 0 ? [0, minor] : [major, 0];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const differing = a.findIndex((part, n) => part !== b[n]);
  return differing === -1 ? 0 : (a[differing] ?? 0) - (b[differing] ?? 0);
}
