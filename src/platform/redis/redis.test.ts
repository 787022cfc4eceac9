import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { noRedis, startRedis } from '../../../test/support/redis.ts';
import { until } from '../../../test/support/wait.ts';
import { createLog } from '../../core/index.ts';
import { Redis } from './redis.ts';

test('a connection that takes two seconds at the start is not reported as down', { skip: noRedis }, async (t) => {
  const server = await startRedis();
  const released = Promise.withResolvers<void>();
  let isConnected = false;
  const relay = createServer((client) => {
    isConnected = true;
    void released.promise.then(() => {
      const redisSocket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
      client
        .on('error', () => {})
        .pipe(redisSocket)
        .pipe(client);
    });
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  let logged = '';
  const log = createLog('info', {
    write(line: string) {
      logged += line;
    },
  });
  const clock = new FakeClock();
  const redis = new Redis({ url: `redis://127.0.0.1:${(relay.address() as AddressInfo).port}`, clock, log });
  t.after(async () => {
    await redis.close();
    relay.close();
    await server.stop();
  });
  const started = redis.start();
  await until('the connection', () => isConnected);
  clock.advance(2_000);
  released.resolve();
  await started;
  log.flush();
  assert.ok(redis.isUp);
  assert.doesNotMatch(logged, /limits\.local/);
});
