import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { loadConfig } from '../../platform/config.ts';
import { bindPort } from '../../platform/http/index.ts';
import { openPort } from './ports.ts';

test('a port that another program takes before the server listens is named, with what to do', async () => {
  const { port, sockets } = await bindPort('127.0.0.1', 0, 1);
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const server = createServer();
  const listen = async (): Promise<number> => {
    server.listen(sockets[0]);
    await once(server, 'listening');
    return port;
  };
  await assert.rejects(openPort('PORT', loadConfig({ HOST: '127.0.0.1', PORT: String(port) }), listen), {
    message: `Port ${port} on 127.0.0.1 is taken. Stop what uses it, or set PORT to another one.`,
  });
  other.close();
});
