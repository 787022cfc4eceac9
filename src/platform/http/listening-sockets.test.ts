import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { bindPort } from './listening-sockets.ts';

const HOST = '127.0.0.1';
const TAKEN = { code: 'EADDRINUSE' };

async function freePort(): Promise<number> {
  const { port, close } = await bindPort(HOST, 0);
  close();
  return port;
}

test('bindPort() claims a port for one server, before and after it listens', async () => {
  const port = await freePort();
  const claimed = await bindPort(HOST, port);
  assert.equal(claimed.port, port);
  await assert.rejects(bindPort(HOST, port), TAKEN);
  const servers = claimed.sockets.map((socket) => createServer().listen(socket));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  await assert.rejects(bindPort(HOST, port), TAKEN);
  claimed.unlock();
  await assert.rejects(bindPort(HOST, port), TAKEN);
  for (const server of servers) server.close();
  await Promise.all(servers.map((server) => once(server, 'close')));
  (await bindPort(HOST, port)).close();
});

test('bindPort() leaves a port that another server has, and one that was given up', async () => {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  await assert.rejects(bindPort(HOST, port), TAKEN);
  server.close();
  await once(server, 'close');
  const claimed = await bindPort(HOST, port);
  claimed.close();
  (await bindPort(HOST, port)).close();
});
