import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';

test('calls are counted in buckets that each hold those before them', async () => {
  const metrics = createMetrics();
  for (const ms of [0, 1, 3, 400_000])
    metrics.callDone({ operation: 'messages.create', status: 200, ms, outcome: 'completed' });
  metrics.callDone({ operation: 'messages.create', status: 429, ms: 1, outcome: 'completed' });
  const text = await metrics.text();
  const of = (le: string): string | undefined =>
    new RegExp(
      `^dragoman_request_duration_seconds_bucket\\{operation="messages.create",status="200",outcome="completed",le="${le}"\\} (\\d+)$`,
      'm',
    ).exec(text)?.[1];
  assert.deepEqual(['0.001', '0.002', '0.005', '300', '\\+Inf'].map(of), ['2', '2', '3', '3', '4']);
  assert.match(text, /^dragoman_request_duration_seconds_sum\{[^}]*status="200"[^}]*\} 400\.004$/m);
  assert.match(text, /^dragoman_request_duration_seconds_count\{[^}]*status="429"[^}]*\} 1$/m);
  assert.equal(text.match(/^# TYPE dragoman_request_duration_seconds histogram$/gm)?.length, 1);
});

test('a gauge tells what is read at the look; one that fails is left out of it', async () => {
  const metrics = createMetrics();
  let value = 1;
  metrics.gauge('some_gauge', 'Something', async () => [{ value, labels: { what: 'a "b"\\\n' } }]);
  metrics.gauge('bad_gauge', 'Something else', () => {
    throw new Error('not now');
  });
  metrics.openCalls.value = 3;
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
