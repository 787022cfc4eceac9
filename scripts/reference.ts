/** The files of the page /docs: our own, and the ready bundle of Redoc without the one address outside that it would load. */
import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './modules.ts';

const SOURCE = join(ROOT, 'console');
const REDOC = join(ROOT, 'node_modules', 'redoc', 'bundles');
const LICENSES = 'redoc.standalone.js.LICENSE.txt';
const LOGO = 'https://cdn.redoc.ly/redoc/logo-mini.svg';
/** An image that fails to load; the viewer then shows none. */
const NO_IMAGE = 'data:,';

/** Creates `reference` in the folder of the built console. */
export function copyReference(folder: string): void {
  const target = join(folder, 'reference');
  cpSync(join(SOURCE, 'reference'), target, { recursive: true });
  copyFileSync(join(SOURCE, 'src', 'icon.svg'), join(target, 'icon.svg'));
  copyFileSync(join(REDOC, LICENSES), join(target, LICENSES));
  const parts = readFileSync(join(REDOC, 'redoc.standalone.js'), 'utf8').split(LOGO);
  if (parts.length !== 2)
    throw new Error(`The bundle of Redoc names ${LOGO} ${parts.length - 1} times, expected once.`);
  writeFileSync(join(target, 'redoc.js'), parts.join(NO_IMAGE));
}
