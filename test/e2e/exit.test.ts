// set: all; a new process
/** The end of a server process: a supervisor sees it, whatever a dependency leaves open. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { launch } from '../support/process.ts';

/** Stands for a connection that a library does not close. */
const LEAK = new URL(
  `data:text/javascript,import { createServer } from 'node:net'; createServer().listen(0, '127.0.0.1');`,
);

let own: TestDatabase;
let folder: string;

before(async () => {
  own = await testDatabase();
  folder = mkdtempSync(join(tmpdir(), 'dragoman-exit-'));
});
after(async () => {
  await own?.drop();
  rmSync(folder, { recursive: true, force: true });
});

test('serve ends after SIGTERM although a handle is still open, and names it', async () => {
  const settings = {
    HOST: '127.0.0.1',
    PORT: '0',
    DEMO: 'off',
    MASTER_KEY: `k1:${'test-master-key-'.repeat(3)}`,
    DATA_DIR: folder,
    DATABASE_URL: own.url,
  };
  const server = launch(['serve', '--no-worker'], settings, { preload: LEAK });
  try {
    await server.until(/Dragoman is ready/);
    assert.equal(await server.stop(), 0, server.output());
    assert.match(server.output(), /Ending with connections still open: .*TCPServerWrap/);
  } finally {
    server.child.kill('SIGKILL');
  }
});
