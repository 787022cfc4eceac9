/** What `npm run package` makes of the sources. `npm run release -- package` installs and runs the result. */
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './modules.ts';
import { toJavaScript, writeSbom } from './package.ts';

const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

test('packed modules are JavaScript, and name other modules and worker scripts as such', () => {
  const source = `import { a } from './a.ts';\nconst b: URL = new URL('../b.ts', import.meta.url);\nexport { a, b, c } from "./c.ts"; // ./d.ts`;
  const lines = toJavaScript(source).split('\n');
  assert.equal(lines[0], `import { a } from './a.js';`);
  assert.match(lines[1] ?? '', /^const b {6}= new URL\('\.\.\/b\.js', import\.meta\.url\);$/);
  assert.equal(lines[2], `export { a, b, c } from "./c.js"; // ./d.ts`);
});

test('the package contains what the server and its demo load, and no tests', () => {
  const files: readonly string[] = MANIFEST.files;
  const isPacked = (path: string): boolean =>
    files.some((entry) => !entry.startsWith('!') && (path === entry || path.startsWith(`${entry}/`))) &&
    !files.some((entry) => entry.startsWith('!') && matchesGlob(path, entry.slice(1)));
  for (const path of ['bin/dragoman.js', 'src/program/cli/program.ts', 'sim/index.ts', 'dist/console/index.html'])
    assert.ok(isPacked(path), path);
  for (const path of globSync(['src/**/*.test.ts', 'sim/**/*.test.ts', 'test/**/*.ts'], { cwd: ROOT }))
    assert.ok(!isPacked(path), path);
});

test('the list of dependencies names each package that runs, and none of development', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-sbom-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { components } = JSON.parse(readFileSync(writeSbom(folder), 'utf8'));
  const listed: string[] = components.map(({ purl }: { purl: string }) => decodeURIComponent(purl));
  for (const one of Object.entries(MANIFEST.dependencies)) assert.ok(listed.includes(`pkg:npm/${one.join('@')}`));
  for (const name in MANIFEST.devDependencies) assert.ok(!listed.some((purl) => purl.startsWith(`pkg:npm/${name}@`)));
});
