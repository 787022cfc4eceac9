import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpRequest, ResponseListener } from '../../../platform/http/index.ts';
import { entraToken } from './entra.ts';
import { SignInError } from './token-cache.ts';
import { requestToken } from './token-request.ts';

/** A token service that responds at once, and the requests that it gets. */
function service(status: number, body: object) {
  const requests: HttpRequest[] = [];
  const http = {
    send(request: HttpRequest, listener: ResponseListener) {
      requests.push(request);
      queueMicrotask(() => {
        listener.onHead(status, {});
        listener.onData(Buffer.from(JSON.stringify(body)));
        listener.onEnd();
      });
      return { resume() {}, abort() {} };
    },
  };
  return { http, requests };
}

test('a service that cannot respond now does not refuse the account, which would park it', async () => {
  for (const [status, isRefused] of [
    ...[400, 401, 403, 404].map((one) => [one, true] as const),
    ...[408, 410, 425, 429, 500, 502, 503].map((one) => [one, false] as const),
  ]) {
    const { http } = service(status, { error: 'x' });
    await assert.rejects(requestToken(http, { url: 'https://token.example/' }), (error: unknown) => {
      assert.ok(error instanceof SignInError);
      assert.deepEqual([error.code, error.isRefused], [`TOKEN_HTTP_${status}`, isRefused]);
      return true;
    });
  }
});

test('a managed identity comes from the endpoint of its host, unless the account names a metadata service', async () => {
  const machine = { tokenFiles: {}, identityEndpoint: 'http://host.example/msi', identityHeader: 'proof' };
  for (const [metadata, url] of [
    [undefined, 'http://host.example/msi'],
    ['http://10.0.0.9', 'http://10.0.0.9/metadata/identity/oauth2/token'],
  ]) {
    const { http, requests } = service(200, { access_token: 'token', expires_in: 3600 });
    const account = { id: 'a', baseUrl: 'https://azure.example', credential: '' };
    const cloud = { kind: 'azure-openai', auth: 'managed-identity', metadata_url: metadata } as const;
    const services = { http, machine } as unknown as Parameters<typeof entraToken>[0];
    assert.equal((await entraToken(services, { account, cloud } as Parameters<typeof entraToken>[1])).value, 'token');
    const [request] = requests;
    assert.equal(`${request?.origin}${request?.path.split('?')[0]}`, url);
    assert.equal(request?.headers.includes('proof'), metadata === undefined, 'the proof stays with the host');
  }
});
