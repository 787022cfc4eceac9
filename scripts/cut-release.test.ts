/** Releases that are cut in a copy of the files that state the version. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { version } from '../src/platform/version.ts';
import { type Cut, CutError, cutRelease, statedVersions } from './cut-release.ts';
import { ROOT } from './modules.ts';

const NEXT = { version: '99.1.0', day: '2099-01-02' };
const CHANGELOG =
  '# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 (2026-01-01)\n\nThe first version.\n';

/** A repository with one commit. */
function repository(t: TestContext): { readonly root: string; readonly git: (...args: string[]) => string } {
  const root = mkdtempSync(join(tmpdir(), 'dragoman-cut-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const { file } of statedVersions(ROOT)) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(root, file));
  }
  writeFileSync(join(root, 'CHANGELOG.md'), CHANGELOG);
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  git('init', '--quiet');
  git('config', 'user.name', 'Ana');
  git('config', 'user.email', 'ana@example.com');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'all');
  return { root, git };
}

test('every file that states a version states that of the program', () => {
  for (const { file, versions } of statedVersions(ROOT)) {
    assert.ok(versions.length > 0, file);
    for (const stated of versions) assert.equal(stated, version, file);
  }
});

test('a cut dates the changelog, writes the version wherever it is stated, commits and tags', (t) => {
  const { root, git } = repository(t);
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8').split('\n');
  cutRelease({ root, ...NEXT });
  for (const { file, versions } of statedVersions(root))
    assert.deepEqual(new Set(versions), new Set([NEXT.version]), file);
  const changed = readFileSync(join(root, 'package-lock.json'), 'utf8')
    .split('\n')
    .filter((line, n) => line !== lock[n]);
  assert.equal(changed.length, 2, 'the versions of dependencies stay');
  assert.equal(
    readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
    CHANGELOG.replace('## Unreleased\n', '## Unreleased\n\n## 99.1.0 (2099-01-02)\n'),
  );
  assert.equal(git('status', '--porcelain'), '');
  assert.equal(git('describe', '--tags'), 'v99.1.0\n');
  assert.equal(git('log', '-1', '--format=%s'), 'deploy: release 99.1.0\n');
});

test('a cut is refused, and changes nothing, where it would not be a release of what is committed', (t) => {
  const { root, git } = repository(t);
  const head = git('rev-parse', 'HEAD');
  const refuses = (part: Partial<Cut>, message: RegExp): void => {
    const isExpected = (error: unknown): boolean => error instanceof CutError && message.test(error.message);
    assert.throws(() => cutRelease({ root, ...NEXT, ...part }), isExpected);
  };
  for (const bad of [version, '0.0.1', '1.2', 'v99.1.0', '99.1.0-rc.1', ''])
    refuses({ version: bad }, /is not one after/);
  git('tag', 'v99.1.0');
  refuses({}, /The tag v99\.1\.0 exists/);
  git('tag', '--delete', 'v99.1.0');
  writeFileSync(join(root, 'new.txt'), '');
  refuses({}, /not committed:\n\?\? new\.txt/);
  rmSync(join(root, 'new.txt'));
  assert.deepEqual([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')], [head, '', '']);

  cutRelease({ root, ...NEXT });
  refuses({ version: '99.2.0' }, /nothing under "Unreleased"/);
  assert.equal(git('status', '--porcelain'), '');
});
