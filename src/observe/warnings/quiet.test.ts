import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quietUntil } from './quiet.ts';

const berlin = (from: string, to: string) => ({ from, to, timezone: 'Europe/Berlin' });
const endOf = (quiet: ReturnType<typeof berlin>, at: string): string | undefined => {
  const end = quietUntil(quiet, Date.parse(at));
  return end === undefined ? undefined : new Date(end).toISOString();
};

test('quiet hours last from their first to their last minute, also over midnight', () => {
  const night = berlin('22:00', '07:00');
  assert.equal(endOf(night, '2031-01-14T20:59:59Z'), undefined);
  assert.equal(endOf(night, '2031-01-14T21:00:00Z'), '2031-01-15T06:00:00.000Z');
  assert.equal(endOf(night, '2031-01-15T05:59:59Z'), '2031-01-15T06:00:00.000Z');
  assert.equal(endOf(night, '2031-01-15T06:00:00Z'), undefined);
  const noon = berlin('12:00', '13:30');
  assert.equal(endOf(noon, '2031-07-15T10:15:30Z'), '2031-07-15T11:30:00.000Z');
  assert.equal(endOf(noon, '2031-07-15T11:30:00Z'), undefined);
});

test('quiet hours end at their time of day when the clock changes within them', () => {
  const night = berlin('22:00', '07:00');
  // One hour shorter in spring, one longer in autumn.
  assert.equal(endOf(night, '2031-03-29T22:00:00Z'), '2031-03-30T05:00:00.000Z');
  assert.equal(endOf(night, '2031-10-25T21:00:00Z'), '2031-10-26T06:00:00.000Z');
  // 02:30 does not exist on the day of the change in spring, and exists twice in autumn.
  assert.equal(endOf(berlin('22:00', '02:30'), '2031-03-29T23:00:00Z'), '2031-03-30T01:00:00.000Z');
  const twice = endOf(berlin('22:00', '02:30'), '2031-10-25T23:00:00Z');
  assert.ok(twice === '2031-10-26T00:30:00.000Z' || twice === '2031-10-26T01:30:00.000Z', String(twice));
});
