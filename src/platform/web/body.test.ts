import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { MaybePromise } from '../../core/index.ts';
import { WireRequest } from '../http/wire/request.ts';
import { readBody } from './body.ts';
import { Call, type ResponseWriter } from './call.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const memoryUsed = (): number => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

const BYTES = 200_000;

function receive(limit: number): { request: WireRequest; body: MaybePromise<Buffer> } {
  const line = { method: 'POST', url: '/', version: '1.1' } as const;
  const connection = { address: '', requestBody: () => {} };
  const request = new WireRequest(line, { line: '', headers: {}, rawHeaders: [] }, connection);
  const response = { once() {} } as unknown as ResponseWriter;
  const route = { operation: 'none', errorFormat: 'openai', params: {}, path: '/', query: '' } as const;
  const call = new Call({ id: '', ...route, request, response, address: '', startedAt: 0 });
  const reservation = { add() {}, release() {} };
  return { request, body: readBody(call, limit, { reservation }) };
}

test('a body that arrives byte by byte takes little more memory than its bytes', async () => {
  const { request, body } = receive(BYTES);
  const before = memoryUsed();
  // Every read of a socket has its own memory, as here.
  for (let n = 0; n < BYTES; n += 1) request.push(Buffer.from(new Uint8Array([n % 251]).buffer));
  const growth = memoryUsed() - before;
  request.end();
  assert.ok(growth < 4 * BYTES, `${growth} bytes for a body of ${BYTES}`);
  const received = await body;
  assert.equal(received.length, BYTES);
  assert.ok(received.every((byte, n) => byte === n % 251));
});

test('a body of 20 MiB is put together in several turns of the event loop', async () => {
  const size = 20 * 2 ** 20;
  const bytes = Buffer.alloc(size, 'abcdefg');
  const { request, body } = receive(size);
  for (let at = 0; at < size; at += 65_000) request.push(bytes.subarray(at, at + 65_000));
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  request.end();
  const received = await body;
  isDone = true;
  assert.ok(received.equals(bytes));
  assert.ok(turns > 4, `${turns} turns`);
});
