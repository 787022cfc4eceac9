import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallsByCaller } from './calls-by-caller.ts';

const from = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

test('a known caller has few calls while others have more than twice as many', () => {
  const calls = new CallsByCaller();
  calls.begin(from('few'))(true);
  assert.equal(calls.hasFew(from('few')), false, 'nobody has many');
  const ends = Array.from({ length: 40 }, () => calls.begin(from('many')));
  assert.equal(calls.hasFew(from('few')), true);
  assert.equal(calls.hasFew(from('many')), false);
  // Two callers with 40 and n calls: 2 (n + 1) is at most half of all up to n = 12.
  for (let n = 0; n < 12; n += 1) calls.begin(from('few'));
  assert.equal(calls.hasFew(from('few')), true);
  calls.begin(from('few'));
  assert.equal(calls.hasFew(from('few')), false);
  for (const end of ends) end(true);
  assert.equal(calls.hasFew({ headers: { 'x-api-key': 'other' } }), false);
});

test('a credential that was never valid, and a request without one, are not excepted', () => {
  const calls = new CallsByCaller();
  for (let n = 0; n < 40; n += 1) calls.begin(from('many'));
  calls.begin(from('made-up'))(false);
  assert.equal(calls.hasFew(from('made-up')), false);
  calls.begin({ headers: {} })(true);
  assert.equal(calls.hasFew({ headers: {} }), false);
});
