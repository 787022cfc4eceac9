/** The files of /docs in the folder of the built console: pages that need no script to be read, and a script that tries requests. */
import { copyFileSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../modules.ts';
import { readDocument } from './document.ts';
import { renderPages } from './page.ts';

const SOURCE = join(ROOT, 'console');

/** Creates `reference` in the folder of the built console. */
export function writeReference(folder: string): void {
  const target = join(folder, 'reference');
  cpSync(join(SOURCE, 'reference'), target, { recursive: true });
  copyFileSync(join(SOURCE, 'src', 'icon.svg'), join(target, 'icon.svg'));
  copyFileSync(join(SOURCE, 'src', 'styles', 'tokens.css'), join(target, 'tokens.css'));
  for (const [name, html] of renderPages(readDocument())) writeFileSync(join(target, name), html);
}
