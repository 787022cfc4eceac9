import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterMs } from './retry-after.ts';

const DATE = 'Mon, 16 Nov 2026 06:00:00 GMT';

test('retryAfterMs reads milliseconds, seconds and dates', () => {
  const cases: [Record<string, string>, number | undefined][] = [
    [{ 'retry-after-ms': '1500.2', 'retry-after': '9' }, 1501],
    [{ 'retry-after': '2' }, 2_000],
    [{ 'retry-after': ' 0.5s ' }, 500],
    [{ 'retry-after': 'Mon, 16 Nov 2026 06:00:30 GMT', date: DATE }, 30_000],
    [{ 'retry-after': 'Mon, 16 Nov 2026 05:59:00 GMT', date: DATE }, undefined],
    [{ 'retry-after': 'Mon, 16 Nov 2026 06:00:30 GMT' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': '0' }, undefined],
    [{ 'retry-after': 'soon', date: DATE }, undefined],
    [{ 'retry-after-ms': 'Infinity' }, undefined],
    [{}, undefined],
  ];
  for (const [headers, expected] of cases) assert.equal(retryAfterMs(headers), expected, JSON.stringify(headers));
});
