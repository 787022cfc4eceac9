/** Proofs that stand elsewhere: tests over HTTP, named by their file and title. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export interface Elsewhere {
  readonly file: string;
  /** As it is written there, with `...` for what a loop puts in. */
  readonly title: string;
}

const ROOT = new URL('../../', import.meta.url);
const TEST = /(?:\btest|[a-z]Test)\(\s*(['`"])(.*?)\1,/g;
const known = new Map<string, ReadonlySet<string>>();

/** A proof that was renamed or removed proves nothing. */
export function assertExists({ file, title }: Elsewhere): void {
  let titles = known.get(file);
  if (!titles) {
    const text = readFileSync(new URL(file, ROOT), 'utf8');
    titles = new Set([...text.matchAll(TEST)].map(([, , found = '']) => found.replaceAll(/\$\{.*?\}/g, '...')));
    known.set(file, titles);
  }
  assert.ok(titles.has(title), `${file} has no test "${title}"`);
}
