import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DataDirError, prepareDataDir } from './data-dir.ts';

test('prepareDataDir creates all folders of a path, and accepts those that exist', async (t) => {
  const top = mkdtempSync(join(tmpdir(), 'dragoman-data-dir-'));
  t.after(() => rmSync(top, { recursive: true, force: true }));
  await prepareDataDir(join(top, 'one/two'));
  await prepareDataDir(join(top, 'one/two'));
  assert.ok(statSync(join(top, 'one/two')).isDirectory());
  const isRoot = process.geteuid?.() === 0;
  assert.equal(statSync(join(top, 'one/two')).mode & 0o777, isRoot ? 0o711 : 0o700, 'other users cannot list it');
  writeFileSync(join(top, 'file'), '');
  await assert.rejects(
    prepareDataDir(join(top, 'file')),
    /DATA_DIR \S+ cannot be created: it is a file\. Set DATA_DIR/,
  );
  for (const below of ['file/below', 'file/below/it'])
    await assert.rejects(prepareDataDir(join(top, below)), /cannot be created: a part of the path is a file/);
});

test('prepareDataDir rejects a path on a file system without new folders', {
  skip: process.platform !== 'linux',
}, async () => {
  await assert.rejects(prepareDataDir('/proc/dragoman/data'), DataDirError);
});
