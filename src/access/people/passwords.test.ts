import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../core/index.ts';
import { Passwords } from './passwords.ts';

const PEPPER = Buffer.alloc(32, 7);

test('verify() accepts the password of a hash in any Unicode form, and only with the same pepper', async () => {
  const passwords = new Passwords(PEPPER);
  const stored = await passwords.hash('caf\u00e9 au lait');
  assert.ok(await passwords.verify('cafe\u0301 au lait', stored));
  assert.ok(!(await passwords.verify('cafe au lait', stored)));
  assert.ok(!(await new Passwords(Buffer.alloc(32)).verify('caf\u00e9 au lait', stored)));
  assert.notEqual(await passwords.hash('caf\u00e9 au lait'), stored, 'each hash has its own salt');
  for (const invalid of [
    null,
    undefined,
    '',
    'caf\u00e9 au lait',
    stored.slice(1),
    stored.replace('argon2id', 'argon2i'),
  ])
    assert.ok(!(await passwords.verify('caf\u00e9 au lait', invalid)));
});

test('verify() does about as much work without a stored hash', async () => {
  const passwords = new Passwords(PEPPER);
  const stored = await passwords.hash('a password');
  const workOf = async (hash: string | undefined): Promise<number> => {
    const begun = process.cpuUsage();
    for (let n = 0; n < 3; n += 1) await passwords.verify('another one', hash);
    const { user, system } = process.cpuUsage(begun);
    return user + system;
  };
  await workOf(stored);
  const [known, unknown] = [await workOf(stored), await workOf(undefined)];
  assert.ok(unknown > known / 4, `${unknown} µs instead of ${known} µs`);
});

test('Passwords rejects what would wait too long, and serves what waits', async () => {
  const passwords = new Passwords(PEPPER, { running: 1, waiting: 2 });
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => passwords.verify('x', undefined)));
  const rejected = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
  assert.equal(rejected.length, 2);
  assert.ok(rejected.every((error) => error instanceof ApiError && error.code === 'server_is_overloaded'));
  assert.equal(await passwords.verify('x', undefined), false, 'the queue is free again');
});
