/**
 * `npm run release -- package`: packs, installs the tarball into an empty folder as an operator does, and tries the
 * demo there. Needs the registry.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkDemo, cleanEnvironment } from './demo-check.ts';
import { packPackage } from './package.ts';

const folder = mkdtempSync(join(tmpdir(), 'dragoman-package-'));
const cwd = join(folder, 'operator');
try {
  const tarball = packPackage(folder);
  console.log(`ok  packed ${tarball}`);
  mkdirSync(cwd);
  // Without it, npm would install into the next folder above that has one.
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', tarball], {
    cwd,
    env: cleanEnvironment(),
    stdio: 'inherit',
  });
  const tests = globSync('node_modules/dragoman/**/*.test.*', { cwd });
  if (tests.length > 0) throw new Error(`The package has tests: ${tests.slice(0, 5).join(', ')}`);
  console.log('ok  installed');
  const version = execFileSync('npx', ['--no', '--', 'dragoman', '--version'], {
    cwd,
    env: cleanEnvironment(),
    encoding: 'utf8',
  });
  console.log(`ok  npx dragoman: version ${version.trim()}`);
  // The program itself: npx does not forward a SIGTERM, only a terminal sends Ctrl-C to both.
  await checkDemo({ command: join(cwd, 'node_modules', '.bin', 'dragoman'), args: ['serve'], cwd });
  console.log('ok  dragoman serve: a request with each key, health, console, stop');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
