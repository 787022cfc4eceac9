/**
 * `npm run release -- back`: the way back with the code of the last release (test/e2e/way-back.test.ts). It starts on
 * the schema of this tree and one more migration, beside and after the servers of this tree.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanEnvironment } from './demo-check.ts';
import { ROOT } from './modules.ts';

const LIMIT_MS = 1_800_000;

const { values } = parseArgs({
  options: { from: { type: 'string', default: lastTag() }, calls: { type: 'string', default: '200' } },
});

if (values.from === '') console.log('skip back: git has no tag of a release (v*); --from COMMIT names its code');
else await drill(values.from, values.calls);

/** Empty when there is none. */
function lastTag(): string {
  const tags = execFileSync('git', ['tag', '--list', 'v*', '--sort=-version:refname', '--merged'], { cwd: ROOT });
  return tags.toString().split('\n')[0] ?? '';
}

async function drill(from: string, calls: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-back-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const archive = execFileSync('git', ['archive', '--format=tar', from], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  if (packagesOf(folder) === packagesOf(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  else execFileSync('npm', ['ci', '--omit=dev'], { cwd: folder, env: cleanEnvironment(), stdio: 'inherit' });
  console.log(`the code of ${from}, ${calls} calls of each kind a step`);
  Object.assign(process.env, { BACK_OLDER: folder, BACK_CALLS: calls, TEST_TIMEOUT_MS: String(LIMIT_MS) });
  process.argv.splice(2, process.argv.length, 'test/e2e/way-back.test.ts');
  await import('./test.ts');
}

/** Which packages a tree needs, without the version of the tree. */
function packagesOf(root: string): string {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { version: _, ...own } = packages[''];
  return JSON.stringify({ ...packages, '': own });
}
