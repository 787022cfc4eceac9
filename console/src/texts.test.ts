import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/** A literal or the text of an element that is a sentence: a capital, several words, and a full stop. */
const SENTENCE = /(?:['"`]|>\s*)([A-Z][a-z]+(?: [^'"`<>{}\n]+)+[.…])(?=['"`]|\s*<)/g;

test('every sentence of the console is in texts.ts', () => {
  const folder = import.meta.dirname;
  const found = globSync('**/*.{ts,tsx}', { cwd: folder })
    .filter((file) => file !== 'texts.ts' && !file.endsWith('.test.ts'))
    .flatMap((file) => {
      const code = readFileSync(join(folder, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
      return [...code.matchAll(SENTENCE)].map(([, text]) => `${file}: ${text}`);
    });
  assert.deepEqual(found, []);
});
