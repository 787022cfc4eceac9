import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hopAddress, isAddressIn, networkOf, parseRange } from './address.ts';

test('isAddressIn compares addresses by bytes, not by text', () => {
  const inside: [string, string][] = [
    ['10.1.2.3', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.0.0.0/8'],
    ['10.1.2.3', '::ffff:10.1.2.3'],
    ['2001:db8:0:0::1', '2001:db8::1'],
    ['2001:DB8::ffff', '2001:db8::/32'],
    ['127.0.0.1', '0.0.0.0/0'],
    ['::1', '::/0'],
  ];
  const outside: [string, string][] = [
    ['11.0.0.1', '10.0.0.0/8'],
    ['10.1.2.30', '10.1.2.3'],
    ['110.1.2.3', '10.1.2.3'],
    ['::1', '127.0.0.0/8'],
    ['::a01:203', '10.0.0.0/8'],
    ['10.1.2.3', '::/0'],
    ['2001:db9::1', '2001:db8::/32'],
  ];
  for (const [address, range] of inside)
    assert.ok(isAddressIn(address, ['192.0.2.1', range]), `${address} in ${range}`);
  for (const [address, range] of outside) assert.ok(!isAddressIn(address, [range]), `${address} not in ${range}`);
});

test('isAddressIn is false for invalid addresses and invalid ranges', () => {
  for (const text of ['', 'x', '10.0.0.256', '10.0.0.1 ', '10.0.0.0/8', 'localhost'])
    assert.ok(!isAddressIn(text, ['0.0.0.0/0', '::/0']), text);
  assert.ok(!isAddressIn('10.0.0.1', []));
  assert.ok(!isAddressIn('10.0.0.1', ['nonsense', '10.0.0.0/99']));
});

test('parseRange accepts addresses and CIDR blocks only', () => {
  for (const text of ['10.0.0.1', '10.0.0.0/8', '::1', 'fe80::/10', '0.0.0.0/0']) assert.ok(parseRange(text), text);
  for (const text of ['', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', 'home', '::/129', '/8', '*'])
    assert.equal(parseRange(text), undefined, text);
});

test('hopAddress removes the port and the brackets of a hop', () => {
  for (const [hop, address] of [
    [' 192.0.2.1 ', '192.0.2.1'],
    ['192.0.2.1:65000', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['unknown', 'unknown'],
    ['', ''],
  ] as const)
    assert.equal(hopAddress(hop), address);
});

test('networkOf is the same for all addresses that one client has', () => {
  assert.equal(networkOf('192.0.2.1'), '192.0.2.1');
  assert.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(networkOf('2001:db8:0:1::1'), networkOf('2001:db8:0:1:ffff::2'));
  assert.notEqual(networkOf('2001:db8:0:1::1'), networkOf('2001:db8:0:2::1'));
  assert.equal(networkOf(''), '');
});
