import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exactMoney, roundMoney, subtractMoney } from './money.ts';

test('exactMoney shows every significant decimal, and at least two', () => {
  const shown = ['0', '1.5', '1234567.891', '0.000041', '-0.5', '12.3400', '-0.00', 'n/a'].map(exactMoney);
  assert.deepEqual(shown, ['$0.00', '$1.50', '$1,234,567.891', '$0.000041', '−$0.50', '$12.34', '$0.00', 'n/a']);
});

test('roundMoney rounds half up to cents, and never shows an amount as nothing', () => {
  const shown = ['412.804', '0.005', '0.004', '0.0000001', '-0.001', '-3.456', '0', '999.995'].map(roundMoney);
  assert.deepEqual(shown, ['$412.80', '$0.01', '<$0.01', '<$0.01', '>−$0.01', '−$3.46', '$0.00', '$1,000.00']);
});

test('subtractMoney is exact', () => {
  assert.equal(subtractMoney('0.3', '0.1'), '0.2');
  assert.equal(subtractMoney('1', '1.000000001'), '-0.000000001');
  assert.equal(subtractMoney('90071992547409.93', '0.01'), '90071992547409.92');
});
