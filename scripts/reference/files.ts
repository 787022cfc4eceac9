/**
 * The files of /docs in the folder of the built console: pages that need no script to be read, and a script that tries
 * requests.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { renderPages } from '../../console/reference/page.ts';
import { ROOT } from '../modules.ts';

const SOURCE = join(ROOT, 'console');

/** Creates `reference` in the folder of the built console. */
export function writeReference(folder: string): void {
  const target = join(folder, 'reference');
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  mkdirSync(target, { recursive: true });
  for (const name of ['reference/page.js', 'reference/style.css', 'src/icon.svg', 'src/styles/tokens.css'])
    copyFileSync(join(SOURCE, name), join(target, name.split('/').at(-1) ?? name));
  for (const [name, text] of renderPages(JSON.parse(read('openapi.json')), (page) => read(`docs/${page}.md`))) {
    mkdirSync(dirname(join(target, name)), { recursive: true });
    writeFileSync(join(target, name), text);
  }
}
