import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkMigrations } from './check-migrations.ts';

test('check finds a migration that does not name the oldest version that can run on it', () => {
  const root = mkdtempSync(join(tmpdir(), 'dragoman-migrations-'));
  const texts = {
    '0073_before': 'select 1;\n',
    '0074_said': '-- runs with: 0.2.0\nselect 1;\n',
    '0075_silent': 'select 1;\n',
    '0076_second_line': '-- A comment.\n-- runs with: 0.2.0\nselect 1;\n',
    '0077_vague': '-- runs with: 0.2\nselect 1;\n',
    '0078_pre_release': '-- runs with: 0.3.0-rc.1\nselect 1;\n',
    '0079_more': '-- runs with: 0.2.0 or later\nselect 1;\n',
  };
  try {
    mkdirSync(join(root, 'migrations'));
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(root, 'migrations', `${name}.sql`), text);
    assert.deepEqual(
      checkMigrations(root).map((finding) => finding.split(':')[0]),
      ['0075_silent', '0076_second_line', '0077_vague', '0078_pre_release', '0079_more'].map(
        (name) => `migrations/${name}.sql`,
      ),
    );
    assert.deepEqual(checkMigrations(), []);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
