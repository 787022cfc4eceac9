import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Account } from '../../catalog/index.ts';
import { systemClock } from '../../core/index.ts';
import { UpstreamClient } from '../../providers/upstream/index.ts';
import { VideoProvider } from './client.ts';

let server: Server;
let upstream: UpstreamClient;
let provider: VideoProvider;
let account: Account;
let response: { readonly status: number; readonly body: object } = { status: 200, body: {} };
/** Ports of the connections that requests came by. */
const ports: (number | undefined)[] = [];

before(async () => {
  server = createServer({ keepAliveTimeout: 75_000 }, (request, reply) => {
    ports.push(request.socket.remotePort);
    request.resume().on('end', () => {
      reply.writeHead(response.status, { 'content-type': 'application/json' }).end(JSON.stringify(response.body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  upstream = new UpstreamClient(systemClock);
  provider = new VideoProvider(upstream);
  const { port } = server.address() as AddressInfo;
  account = { id: 'one', adapter: 'ark', baseUrl: `http://127.0.0.1:${port}`, credential: 'key' } as unknown as Account;
});
after(async () => {
  await upstream.close();
  server.closeAllConnections();
  server.close();
});

test('a cancellation is rejected by a clear refusal alone; with any other error it is sent again', async () => {
  for (const [status, outcome] of [
    [200, 'cancelled'],
    [204, 'cancelled'],
    [400, 'rejected'],
    [409, 'rejected'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
  ] as const) {
    response = { status, body: {} };
    assert.equal(await provider.cancel(account, 'cgt-1'), outcome, String(status));
  }
});

test('a report about another task says nothing about the one that was asked for', async () => {
  const kindOf = async (status: number, id: string): Promise<string> => {
    response = { status, body: { id, status: 'succeeded' } };
    return (await provider.get(account, 'cgt-1')).kind;
  };
  assert.equal(await kindOf(200, 'cgt-1'), 'found');
  assert.equal(await kindOf(200, 'cgt-2'), 'failed');
  assert.equal(await kindOf(404, 'cgt-1'), 'missing');
});

test('a create request has a connection of its own: one that the provider just closed would leave its outcome open', async () => {
  response = { status: 200, body: { id: 'cgt-1', status: 'queued' } };
  ports.length = 0;
  for (let n = 0; n < 2; n += 1) await provider.get(account, 'cgt-1');
  for (let n = 0; n < 2; n += 1)
    assert.deepEqual(await provider.create(account, { endUser: 'user', taskId: 'task_1', body: [Buffer.from('{}')] }), {
      kind: 'accepted',
      upstreamId: 'cgt-1',
    });
  const [first, second, ...created] = ports;
  assert.equal(first, second, 'queries share one');
  assert.equal(new Set([first, ...created]).size, 3);
});
