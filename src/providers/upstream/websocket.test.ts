import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { certificateFor } from '../../../test/support/certificate.ts';
import { openUpstreamSocket } from './websocket.ts';

test('TLS: the WebSocket client rejects an untrusted certificate, whatever the environment sets', async () => {
  const server = createServer(certificateFor('localhost'));
  const sockets = new WebSocketServer({ server });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  try {
    const outcome = await new Promise<string>((resolve) => {
      openUpstreamSocket(
        { origin, path: '/', headers: [] },
        {
          onOpen: () => resolve('open'),
          onRejected: (status) => resolve(String(status)),
          onText: () => {},
          onClosed: resolve,
        },
      );
    });
    assert.equal(outcome, 'DEPTH_ZERO_SELF_SIGNED_CERT');
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    sockets.close();
    server.close();
    server.closeAllConnections();
  }
});
