/**
 * Health checks while the event loop of the process is blocked:
 * by a child process, for which this one waits without turning it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { afterEach, test } from 'node:test';
import { until } from '../../../test/support/wait.ts';
import { type HealthListener, type HealthListenerOptions, openHealthListener } from './health-listener.ts';

const OPTIONS = {
  version: '1.4.0',
  host: '127.0.0.1',
  port: 0,
  paths: { alive: '/healthz', ready: '/readyz' },
};
const ALIVE = `200 {"status":"alive","version":"1.4.0"}`;
const PROGRAM = `for (const url of process.argv.slice(1)) {
  const response = await fetch(url);
  console.log(response.status, JSON.stringify(await response.json()));
}`;

let listener: HealthListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

async function open(options: Partial<HealthListenerOptions> = {}): Promise<(path: string) => string> {
  const opened = await openHealthListener({ notReady: async () => undefined, ...OPTIONS, ...options });
  listener = opened;
  return (path) => `http://127.0.0.1:${opened.port}${path}`;
}

/** The responses, received while this event loop stands still. */
function fetchBlocked(...urls: readonly string[]): string[] {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM, ...urls], {
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return stdout.trim().split('\n');
}

test('a health listener says that the process is alive while its event loop is blocked', async () => {
  const url = await open({ limits: { readyMs: 10 } });
  assert.deepEqual(fetchBlocked(url('/healthz'), url('/healthz'), url('/readyz'), url('/healthz')), [
    ALIVE,
    ALIVE,
    '503 {"status":"not ready","reason":"the event loop does not respond"}',
    ALIVE,
  ]);
  await until('its late answer ends the silence', async () => (await fetch(url('/readyz'))).status === 200);
});

test('a health listener says that the process is stuck after a long silence, and alive when it goes on', async () => {
  const url = await open({ limits: { stalledMs: 1, readyMs: 20 } });
  // The readiness takes longer than the silence that is allowed.
  assert.deepEqual(fetchBlocked(url('/healthz'), url('/readyz'), url('/healthz')).slice(1), [
    '503 {"status":"not ready","reason":"the event loop does not respond"}',
    '503 {"status":"stalled","reason":"the event loop does not respond"}',
  ]);
  await until('a sign of life', async () => (await fetch(url('/healthz'))).status === 200);
});

test('a health listener passes on why the process is not ready, and knows no other path', async () => {
  let reason: string | undefined = 'starting';
  const url = await open({ notReady: async () => reason });
  const ready = await fetch(url('/readyz'));
  assert.deepEqual([ready.status, await ready.json()], [503, { status: 'not ready', reason }]);
  reason = undefined;
  assert.equal((await fetch(url('/readyz'), { method: 'HEAD' })).status, 200);
  for (const [path, method] of [
    ['/metrics', 'GET'],
    ['/healthz', 'POST'],
    ['/', 'GET'],
  ] as const)
    assert.equal((await fetch(url(path), { method })).status, 404, path);
});

test('a health listener rejects with the error of the system when its port is taken', async () => {
  const occupant = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => occupant.once('listening', resolve));
  const address = occupant.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  await assert.rejects(open({ port }), { code: 'EADDRINUSE' });
  occupant.close();
});
