import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { until } from '../../test/support/wait.ts';
import { createLog } from './log.ts';

test('a log line holds level, time, event and the defined fields', () => {
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

const runScript = (script: string) => spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' });
const linesIn = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const LOG = JSON.stringify(new URL('./log.ts', import.meta.url));

test('the log writes every line to a pipe in order, including the last ones before the process exits', async () => {
  const child = runScript(`
    const { createLog } = await import(${LOG});
    const log = createLog('info');
    for (let n = 0; n < 20_000; n += 1) {
      log.info('n', { n, text: 'äx'.repeat(20) });
      if (n % 500 === 0) await new Promise((next) => setImmediate(next));
    }
    await new Promise((read) => process.stdin.once('data', read));
    log.info('last');
    process.exit(0);`);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await until('all lines but the last', () => text.includes('"n":19999,') && text.endsWith('\n'));
  child.stdin.write('all lines are read');
  await once(child, 'close');
  assert.deepEqual(
    linesIn(text).map(({ n }) => n),
    [...Array.from({ length: 20_000 }, (_, n) => n), undefined],
  );
});

test('the process keeps running when the reader of its log closes the pipe', async () => {
  const child = runScript(`
    const { createLog } = await import(${LOG});
    const log = createLog('info');
    log.info('first'); log.flush();
    await new Promise((closed) => process.stdin.once('data', closed));
    for (let turn = 0; turn < 50; turn += 1) {
      for (let n = 0; n < 500; n += 1) log.info('more', { text: 'x'.repeat(100) });
      await new Promise((next) => setTimeout(next, 5));
    }
    process.exit(7);`);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  child.stdin.write('the pipe is closed');
  const [code] = await once(child, 'exit');
  assert.equal(code, 7);
});

test('the log counts the lines it drops for a slow reader, and reports them once the reader continues', async () => {
  const written = 60_000;
  const child = runScript(`
    const { createLog } = await import(${LOG});
    const log = createLog('info');
    for (let n = 0; n < ${written}; n += 1) {
      log.info('n', { n, text: 'x'.repeat(400) });
      if (n % 500 === 0) await new Promise((next) => setImmediate(next));
    }
    process.stderr.write(String(log.droppedLines));
    setInterval(() => {}, 1_000);`);
  const [counted] = (await once(child.stderr ?? assert.fail(), 'data')) as [Buffer];
  let text = '';
  const isReported = Promise.withResolvers<void>();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (chunk.includes('log.lines_dropped') && text.endsWith('\n')) isReported.resolve();
  });
  await isReported.promise;
  child.kill();
  const lines = linesIn(text);
  const report = lines.pop() ?? assert.fail();
  assert.deepEqual([report.level, report.msg, report.lines], [40, 'log.lines_dropped', Number(counted.toString())]);
  assert.ok(report.lines > 0);
  assert.deepEqual(
    lines.map(({ n }) => n),
    Array.from({ length: written - report.lines }, (_, n) => n),
    'the lines before the drop arrive in order',
  );
});
