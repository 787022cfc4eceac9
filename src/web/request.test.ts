import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { IncomingRequest } from './request.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const POST = { method: 'POST', url: '/', version: '1.1' } as const;
const SENDER = { address: '', requestBody: () => {} };

for (const over of ['end', 'cut'] as const) {
  test(`whoever read a body is let go at its ${over}, though the answer may take an hour`, async () => {
    const request = new IncomingRequest(POST, { line: '', headers: {}, fields: [] }, SENDER);
    const reader = new WeakRef({ onData: () => true, onEnd() {}, onCut() {} });
    request.read(reader.deref() ?? assert.fail());
    request.push(Buffer.from('a piece'));
    request[over]();
    await turn();
    collect();
    assert.equal(reader.deref(), undefined);
    assert.equal(request.completeBody, undefined, 'and nobody takes the body for one that was not read');
  });
}
