import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { type Sim, startSim } from './index.ts';

let sim: Sim;
before(async () => {
  sim = await startSim();
});
after(() => sim.close());

test('the upgrade is rejected when disabled, without a valid credential and on other paths', async () => {
  const plain = await startSim({ websocket: false });
  const rows: [string, string, number][] = [
    [`${plain.url}/v1/responses`, 'sk-any', 426],
    [`${sim.url}/v1/responses`, 'sk-no-socket', 426],
    [`${sim.url}/v1/responses`, 'sk-bad', 401],
    [`${sim.url}/v1/other`, 'sk-any', 404],
  ];
  for (const [url, key, status] of rows) {
    const socket = new WebSocket(url.replace('http', 'ws'), { headers: { authorization: `Bearer ${key}` } });
    const [request, response] = await once(socket, 'unexpected-response');
    assert.equal(response.statusCode, status, `${url} ${key}`);
    request.destroy();
  }
  await plain.close();
});
