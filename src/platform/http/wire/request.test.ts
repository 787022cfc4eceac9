import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WireRequest } from './request.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const POST = { method: 'POST', url: '/', version: '1.1' } as const;
const CONNECTION = { address: '', requestBody: () => {} };

for (const over of ['end', 'abort'] as const) {
  test(`the request releases its body reader at ${over}, because the response may take an hour`, async () => {
    const request = new WireRequest(POST, { line: '', headers: {}, rawHeaders: [] }, CONNECTION);
    const reader = new WeakRef({ onData: () => true, onEnd() {}, onAborted() {} });
    request.read(reader.deref() ?? assert.fail());
    request.push(Buffer.from('a piece'));
    request[over]();
    await turn();
    collect();
    assert.equal(reader.deref(), undefined);
    assert.equal(request.completeBody, undefined, 'a body that was read is not available again');
  });
}
