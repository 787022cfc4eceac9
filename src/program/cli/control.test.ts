import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ControlServer, requestReload } from './control.ts';

test('a control socket closes a connection that sends no request, and serves the next one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'dragoman-control-'));
  const reloads: object[] = [];
  const control = await ControlServer.open(dataDir, async (settings) => void reloads.push(settings));
  try {
    const { socket: path } = JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8')) as { socket: string };
    const stranger = createConnection(path).on('error', () => {});
    stranger.resume().write('GET / HTTP/1.1\r\n\r\n');
    await once(stranger, 'close');
    await requestReload(dataDir, { settings: { LOG_LEVEL: 'info' } }, () => {});
    assert.deepEqual(reloads, [{ LOG_LEVEL: 'info' }]);
  } finally {
    await control.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
