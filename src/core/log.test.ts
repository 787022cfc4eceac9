import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { createLog } from './log.ts';

test('a line says when, how grave, what, and the fields that have a value', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  log.debug('request.received', { request: 'req_1' });
  log.info('request.completed', { request: 'req_1', ms: 3, cost: undefined, faults: ['broken'] });
  log.error('disk.full');
  assert.equal(lines.length, 2);
  const [first, second] = lines.map((line) => JSON.parse(line));
  assert.match(first.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  delete first.time;
  assert.deepEqual(first, { level: 30, request: 'req_1', ms: 3, faults: ['broken'], msg: 'request.completed' });
  assert.deepEqual([second.level, second.msg], [50, 'disk.full']);
  for (const line of lines) assert.ok(line.endsWith('}\n'));
});

const speaker = (script: string) =>
  spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
const LOG = JSON.stringify(new URL('./log.ts', import.meta.url));

test('every line reaches a pipe in order, the last ones before the process ends too', async () => {
  const child = speaker(`
    const { createLog } = await import(${LOG});
    const log = createLog('info');
    for (let n = 0; n < 20_000; n += 1) {
      log.info('n', { n, text: 'äx'.repeat(20) });
      if (n % 500 === 0) await new Promise((next) => setImmediate(next));
    }
    await new Promise((later) => setTimeout(later, 700));
    log.info('last');
    process.exit(0);`);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  await once(child, 'close');
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ n }) => n),
    [...Array.from({ length: 20_000 }, (_, n) => n), undefined],
  );
});

test('a reader who leaves does not stop the process', async () => {
  const child = speaker(`
    const { createLog } = await import(${LOG});
    const log = createLog('info');
    log.info('first'); log.flush();
    setInterval(() => { for (let n = 0; n < 500; n += 1) log.info('more', { text: 'x'.repeat(100) }); }, 5);
    setTimeout(() => process.exit(7), 400);`);
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = await once(child, 'exit');
  assert.equal(code, 7);
});
