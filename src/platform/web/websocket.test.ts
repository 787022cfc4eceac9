import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ApiError } from '../../core/index.ts';
import type { IncomingRequest } from '../http/index.ts';
import { BodyBudget } from './body-budget.ts';
import { Call, type ResponseWriter } from './call.ts';
import { WebSocketServer } from './websocket.ts';

const HANDSHAKE = {
  host: 'gateway.test',
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  // Key and its accept value are the example of RFC 6455.
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
/** A masked text frame "Hello", the example of RFC 6455. */
const HELLO = Buffer.from('818537fa213d7f9f4d5158', 'hex');

interface Opened {
  readonly call: Call;
  /** The other end of the connection. */
  readonly client: ReturnType<typeof duplexPair>[0];
  /** Names of the members of the request that were read. */
  readonly read: Set<string | symbol>;
}

/** An upgrade request that throws when a member is read that our requests do not have. */
function openUpgrade(headers: Readonly<Record<string, string>> = HANDSHAKE): Opened {
  const read = new Set<string | symbol>();
  const request = new Proxy({ method: 'GET', headers } as unknown as IncomingRequest, {
    get(target, name) {
      read.add(name);
      if (name in target) return Reflect.get(target, name);
      throw new Error(`ws reads ${String(name)} of the request, which IncomingRequest does not provide`);
    },
  });
  const [client, socket] = duplexPair();
  const call = new Call({
    id: 'req_1',
    operation: 'responses.socket',
    errorFormat: 'openai',
    request,
    response: { once() {} } as unknown as ResponseWriter,
    params: {},
    path: '/v1/responses',
    query: '',
    address: '',
    startedAt: 0,
    // A copy, because ws unmasks it in place.
    upgrade: { socket: socket as Socket, release: () => Buffer.from(HELLO) },
    bodyBudget: new BodyBudget(2 ** 20),
  });
  return { call, client, read };
}

test('ws reads only the method and the headers of an upgrade request', async () => {
  const { call, client, read } = openUpgrade();
  const received = once(client, 'data') as Promise<[Buffer]>;
  const connection = await new WebSocketServer(1_000).accept(call);
  const [response] = await received;
  assert.match(response.toString('latin1'), /^HTTP\/1\.1 101 /);
  assert.ok(response.includes(`Sec-WebSocket-Accept: ${ACCEPT}\r\n`));
  const message = Promise.withResolvers<string | undefined>();
  connection.onMessage(message.resolve);
  assert.equal(await message.promise, 'Hello', 'the frame behind the handshake arrives');
  const closed = new Promise<void>((resolve) => connection.onClose(resolve));
  call.upgrade?.socket.destroy();
  await closed;
  assert.deepEqual(read, new Set(['method', 'headers']));
});

test('a message that arrives byte by byte counts with the memory of its chunks', async () => {
  const { call, client } = openUpgrade();
  client.resume();
  const connection = await new WebSocketServer(1_000).accept(call);
  connection.onMessage(() => {});
  // The head of a masked text frame of 64 KiB.
  client.write(Buffer.from('81ff000000000001000037fa213d', 'hex'));
  let sent = 0;
  for (; sent < 10_000 && !client.readableEnded; sent += 1) {
    client.write('x');
    await turn();
  }
  call.upgrade?.socket.destroy();
  assert.ok(sent < 5_000, `closed after ${sent} chunks`);
});

test('a message of too many fragments closes the connection', async () => {
  const { call, client } = openUpgrade();
  // The head of a close frame.
  client.on('data', (bytes: Buffer) => bytes[0] === 0x88 && client.end());
  const connection = await new WebSocketServer(1_000).accept(call);
  const messages: unknown[] = [];
  connection.onMessage((text) => messages.push(text));
  const closed = new Promise<void>((resolve) => connection.onClose(resolve));
  // A masked text frame of one byte without the final flag, then continuations of it.
  client.write(Buffer.from('018137fa213d78', 'hex'));
  client.write(Buffer.from('008137fa213d78'.repeat(4_096), 'hex'));
  await closed;
  assert.deepEqual(messages, ['Hello'], 'only the message behind the handshake arrived');
});

for (const [description, changes] of [
  ['without a key', { 'sec-websocket-key': '' }],
  ['with a malformed key', { 'sec-websocket-key': 'short' }],
  ['with an unknown version', { 'sec-websocket-version': '7' }],
  ['with a malformed subprotocol', { 'sec-websocket-protocol': 'a,,b' }],
] as const)
  test(`the WebSocket server rejects a handshake ${description} with our error format`, () => {
    const { call } = openUpgrade({ ...HANDSHAKE, ...changes });
    assert.throws(
      () => new WebSocketServer(1_000).accept(call),
      (error) => error instanceof ApiError && error.code === 'invalid_request',
    );
  });
