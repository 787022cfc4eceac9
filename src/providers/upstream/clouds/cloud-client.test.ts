import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { HttpRequest, ResponseListener } from '../../../platform/http/index.ts';
import type { CloudUse } from '../account-url.ts';
import { CloudClient } from './cloud-client.ts';

const CONTAINER = 'http://169.254.170.2';
const MINUTE = 60_000;

const useOf = (auth: string): CloudUse => ({
  style: 'messages',
  account: { id: 'a', baseUrl: 'https://bedrock.example', credential: '' },
  cloud: { kind: 'bedrock', auth, region: 'eu-central-1' } as CloudUse['cloud'],
  model: 'claude',
});
const REQUEST: HttpRequest = {
  method: 'POST',
  origin: 'https://bedrock.example',
  path: '/v1/messages',
  headers: [],
  body: '{"model":"claude"}',
  timeouts: { connect: 1, firstByte: 1, idle: 1, total: 1 },
};

test('Bedrock rejects temporary credentials with 403, and later requests get new ones', async () => {
  const clock = new FakeClock();
  const fetched: string[] = [];
  const http = {
    send(request: HttpRequest, listener: ResponseListener) {
      const isToken = request.origin === CONTAINER;
      if (isToken) fetched.push(request.path);
      const Expiration = new Date(clock.now() + 60 * MINUTE).toISOString();
      const body = isToken
        ? { AccessKeyId: 'ASIA', SecretAccessKey: 'secret', Token: `session ${fetched.length}`, Expiration }
        : { message: 'The security token included in the request is expired' };
      queueMicrotask(() => {
        listener.onHead(isToken ? 200 : 403, isToken ? {} : { 'x-amzn-errortype': 'ExpiredTokenException' });
        listener.onData(Buffer.from(JSON.stringify(body)));
        listener.onEnd();
      });
      return { resume() {}, abort() {} };
    },
  };
  const client = new CloudClient({ clock, http, machine: { tokenFiles: {}, containerPath: '/credentials' } });
  const use = useOf('container');
  const status = (): Promise<number> =>
    new Promise((resolve, reject) => {
      client.send(REQUEST, use, {
        onHead: resolve,
        onData: () => true,
        onEnd() {},
        onError: ({ code }) => reject(new Error(code)),
      });
    });
  assert.equal(await status(), 401);
  assert.equal(fetched.length, 1);
  clock.advance(2 * MINUTE);
  assert.equal(await status(), 401);
  assert.equal(await status(), 401);
  assert.equal(fetched.length, 2);
});

test('credentials without a time to live are none, and nothing is sent with them', async () => {
  for (const Expiration of ['2001-01-01T00:00:00Z', 'never', undefined]) {
    const origins: string[] = [];
    const http = {
      send(request: HttpRequest, listener: ResponseListener) {
        origins.push(request.origin);
        const body = { AccessKeyId: 'ASIA', SecretAccessKey: 'secret', Token: 'session', Expiration };
        queueMicrotask(() => {
          listener.onHead(200, {});
          listener.onData(Buffer.from(JSON.stringify(body)));
          listener.onEnd();
        });
        return { resume() {}, abort() {} };
      },
    };
    const machine = { tokenFiles: {}, containerPath: '/credentials' };
    const client = new CloudClient({ clock: new FakeClock(), http, machine });
    const code = new Promise<string>((resolve, reject) => {
      client.send(REQUEST, useOf('container'), {
        onHead: (status) => reject(new Error(`status ${status}`)),
        onData: () => true,
        onEnd() {},
        onError: (error) => resolve(error.code),
      });
    });
    assert.equal(await code, 'TOKEN_MISSING', String(Expiration));
    assert.deepEqual(origins, [CONTAINER]);
  }
});
