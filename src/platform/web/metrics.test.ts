import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METRICS } from '../../rules/index.ts';
import { version } from '../version.ts';
import { createMetrics } from './metrics.ts';

test('metrics count request durations in cumulative buckets', async () => {
  const metrics = createMetrics();
  for (const ms of [0, 1, 3, 400_000])
    metrics.recordRequest({ operation: 'messages.create', status: 200, ms, outcome: 'completed' });
  metrics.recordRequest({ operation: 'messages.create', status: 429, ms: 1, outcome: 'completed' });
  const text = await metrics.text();
  const bucket = (le: string): string | undefined =>
    new RegExp(
      `^dragoman_request_duration_seconds_bucket\\{operation="messages.create",status="200",outcome="completed",le="${le}"\\} (\\d+)$`,
      'm',
    ).exec(text)?.[1];
  assert.deepEqual(['0.001', '0.002', '0.005', '300', '\\+Inf'].map(bucket), ['2', '2', '3', '3', '4']);
  assert.match(text, /^dragoman_request_duration_seconds_sum\{[^}]*status="200"[^}]*\} 400\.004$/m);
  assert.match(text, /^dragoman_request_duration_seconds_count\{[^}]*status="429"[^}]*\} 1$/m);
  assert.equal(text.match(/^# TYPE dragoman_request_duration_seconds histogram$/gm)?.length, 1);
});

test('a gauge is read at every scrape, and omitted when its reader fails', async () => {
  const metrics = createMetrics();
  let value = 1;
  metrics.register('dragoman_alarm', async () => [{ value, labels: { what: 'a "b"\\\n' } }]);
  metrics.register('dragoman_flush_failures', () => {
    throw new Error('not now');
  });
  metrics.openRequests.value = 3;
  value = 2;
  const text = await metrics.text();
  assert.match(
    text,
    /^# HELP dragoman_alarm .+\n# TYPE dragoman_alarm gauge\ndragoman_alarm\{what="a \\"b\\"\\\\\\n"\} 2$/m,
  );
  assert.match(text, /^dragoman_open_requests 3$/m);
  assert.doesNotMatch(text, /dragoman_flush_failures|dragoman_limits_shared/);
  assert.ok(text.endsWith('\n'));
});

test('metrics have the names that Prometheus expects: totals of counters, base units, help of one line', () => {
  for (const [name, { type, help }] of Object.entries(METRICS)) {
    assert.equal(name.endsWith('_total'), type === 'counter', name);
    assert.doesNotMatch(name, /_(?:ms|millis|milliseconds|minutes|kb|mb|percent|count|sum|bucket)(?:_|$)/);
    assert.doesNotMatch(help, /[\\\n]/, name);
  }
});

test('metrics describe the process in base units', async () => {
  const metrics = createMetrics();
  const text = await metrics.text();
  const sampleOf = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? assert.fail(name));
  assert.ok(sampleOf('process_resident_memory_bytes') > 10e6);
  const { user, system } = process.cpuUsage();
  const cpuSeconds = sampleOf('process_cpu_seconds_total');
  assert.ok(cpuSeconds > 0 && cpuSeconds <= (user + system) / 1e6, `${cpuSeconds}`);
  const startedAt = sampleOf('process_start_time_seconds');
  assert.ok(Math.abs(startedAt - performance.timeOrigin / 1_000) < 5, `${startedAt}`);
  const lag = sampleOf('nodejs_eventloop_lag_p99_seconds');
  assert.ok(lag >= 0 && lag <= process.uptime(), `${lag}`);
  assert.match(text, new RegExp(`^dragoman_build_info\\{version="${version}",node="v\\d+.*"\\} 1$`, 'm'));
});
