import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createRunFolder } from './folder.ts';

test('the folder of a run is in the TMPDIR of the user, becomes that of the run, is writable for every user, and goes with its content', (t) => {
  const own = realpathSync(mkdtempSync(join(tmpdir(), 'dragoman-folder-')));
  t.after(() => rmSync(own, { recursive: true, force: true }));
  const env = { TMPDIR: own };
  const folder = createRunFolder(env);
  assert.deepEqual([dirname(folder.path), env.TMPDIR], [own, folder.path]);
  assert.equal(statSync(folder.path).mode & 0o7777, 0o1777);
  writeFileSync(join(folder.path, 'left'), '');
  folder.remove();
  assert.ok(!existsSync(folder.path));
});
