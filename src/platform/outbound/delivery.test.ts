import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLBACK_RULES } from '../../rules/index.ts';
import { type SendResult, verdictOf } from './delivery.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const responded = (status: number, retryAfter?: string): SendResult => ({ ok: true, status, retryAfter });
const FAILED: SendResult = { ok: false, reason: 'network', message: '' };

const judge = (result: SendResult, number = 1, random = 0.5) =>
  verdictOf({ result, number, now: NOW, random }, CALLBACK_RULES);
const waitOf = (result: SendResult, number = 1, random = 0.5): number | undefined => {
  const verdict = judge(result, number, random);
  return verdict.state === 'pending' ? verdict.waitMs : undefined;
};

test('V 6 r2: every 2xx is a delivery; every other status and every failure is not', () => {
  for (const status of [200, 201, 202, 204, 299]) assert.equal(judge(responded(status)).state, 'delivered');
  for (const status of [300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 429, 500, 503, 599])
    assert.equal(judge(responded(status)).state, 'pending', String(status));
  assert.equal(judge(FAILED).state, 'pending');
});

test('V 6 r2: 410 ends the event at once', () => {
  assert.equal(judge(responded(410)).state, 'dead');
  assert.equal(judge({ ok: false, reason: 'task' }).state, 'dead');
  assert.equal(judge({ ok: false, reason: 'secret' }).state, 'pending');
});

test('V 6 r2: 10 attempts over about 28 hours, each wait varied by a fifth', () => {
  const waits = Array.from({ length: 9 }, (_, n) => waitOf(FAILED, n + 1) ?? assert.fail());
  assert.deepEqual(
    waits.map((ms) => ms / 1_000),
    [5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 36_000],
  );
  assert.equal(judge(FAILED, 10).state, 'dead');
  const hours = waits.reduce((sum, ms) => sum + ms, 0) / 3_600_000;
  assert.ok(hours > 27 && hours < 29, String(hours));
  assert.deepEqual([waitOf(FAILED, 1, 0), waitOf(FAILED, 1, 1)], [4_000, 6_000]);
});

test('V 6 r2: Retry-After of 429 and 503 delays the next attempt, by at most an hour', () => {
  assert.equal(waitOf(responded(429, '60')), 60_000);
  assert.equal(waitOf(responded(503, '7200')), 3_600_000);
  assert.equal(waitOf(responded(503, new Date(NOW + 90_000).toUTCString())), 90_000);
  for (const ignored of ['1', '0', '-5', '1.5', 'soon', '', new Date(NOW - 90_000).toUTCString()])
    assert.equal(waitOf(responded(429, ignored)), 5_000, ignored);
  assert.equal(waitOf(responded(500, '60')), 5_000);
  assert.equal(waitOf(responded(429, '60'), 4), 600_000, 'never before the schedule');
});
