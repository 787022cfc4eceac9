import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  metrics.gauge('some_gauge', 'Something', async () => [{ value, labels: { what: 'a "b"\\\n' } }]);
  metrics.gauge('bad_gauge', 'Something else', () => {
    throw new Error('not now');
  });
  metrics.openRequests.value = 3;
  value = 2;
  const text = await metrics.text();
  assert.match(
    text,
    /^# HELP some_gauge Something\n# TYPE some_gauge gauge\nsome_gauge\{what="a \\"b\\"\\\\\\n"\} 2$/m,
  );
  assert.match(text, /^dragoman_open_requests 3$/m);
  assert.doesNotMatch(text, /bad_gauge|dragoman_limits_shared/);
  assert.ok(text.endsWith('\n'));
});

test('metrics escape backslashes and line breaks in the HELP text', async () => {
  const metrics = createMetrics();
  metrics.counter('some_total', 'Lines of C:\\log\n# TYPE other gauge', () => [{ value: 7 }]);
  assert.match(
    await metrics.text(),
    /^# HELP some_total Lines of C:\\\\log\\n# TYPE other gauge\n# TYPE some_total counter\nsome_total 7$/m,
  );
});

test('metrics describe the process in base units', async () => {
  const metrics = createMetrics();
  const text = await metrics.text();
  const sampleOf = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? assert.fail(name));
  assert.ok(sampleOf('process_resident_memory_bytes') > 10e6);
  assert.ok(sampleOf('process_cpu_seconds_total') > 0 && sampleOf('process_cpu_seconds_total') < 600);
  const ageSeconds = Date.now() / 1_000 - sampleOf('process_start_time_seconds');
  assert.ok(ageSeconds > 0 && ageSeconds < 600, `${ageSeconds}`);
  const lag = sampleOf('nodejs_eventloop_lag_seconds\\{quantile="0.99"\\}');
  assert.ok(lag >= 0 && lag < 60, `${lag}`);
});
