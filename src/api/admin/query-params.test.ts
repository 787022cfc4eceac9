import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { ApiError } from '../../core/index.ts';
import { pageParams, rowKey } from './pagination.ts';
import { listOf, money, param, period, readQuery } from './query-params.ts';

const Schema = z.strictObject({
  user: param.user,
  below: money('below'),
  by: listOf(['day', 'user']).default(['day']),
  ...period,
  ...pageParams(rowKey.id),
});

const cursor = (...key: string[]): string => Buffer.from(JSON.stringify(key)).toString('base64url');

test('readQuery parses values and fills in defaults; an empty value counts as absent', () => {
  assert.deepEqual(readQuery('user=&by=user,day&start=2030-01-31&below=-1.5', Schema), {
    by: ['user', 'day'],
    start: new Date('2030-01-31T00:00:00Z'),
    below: -1_500_000_000n,
    limit: 100,
    user: undefined,
  });
  assert.deepEqual(readQuery(`cursor=${cursor('7')}&limit=1000`, Schema), { by: ['day'], limit: 1000, cursor: [7n] });
});

test('readQuery rejects invalid, unknown and repeated parameters by name', () => {
  const cases: [query: string, param: string, message: RegExp][] = [
    ['colour=red', 'colour', /unknown parameter, expected some of user, below, by, start, end, limit, cursor/],
    ['__proto__=x', '__proto__', /unknown parameter/],
    ['user=a&user=b', 'user', /more than once/],
    [`user=${'x'.repeat(513)}`, 'user', /at most 512 characters/],
    ['user=%00', 'user', /control characters/],
    ['limit=0', 'limit', /found "0", expected at least 1/],
    ['limit=1.5', 'limit', /expected a whole number/],
    ['limit=many', 'limit', /expected a number/],
    ['start=2030-99-99', 'start', /expected a time such as/],
    ['below=much', 'below', /expected a decimal amount/],
    ['by=day,day', 'by', /each once/],
    ['by=day,hour', 'by', /some of day, user/],
    ['cursor=x', 'cursor', /next_cursor/],
    [`cursor=${cursor('x')}`, 'cursor', /next_cursor/],
    [`cursor=${cursor('1', '2')}`, 'cursor', /next_cursor/],
  ];
  for (const [query, name, message] of cases)
    assert.throws(
      () => readQuery(query, Schema),
      (error: unknown) => {
        assert.ok(error instanceof ApiError, String(error));
        assert.deepEqual([error.code, error.details.param], ['invalid_value', name], query);
        assert.match(error.message, message, query);
        return true;
      },
    );
});
