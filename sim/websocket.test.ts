import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { WebSocket } from 'ws';
import { type Sim, startSim } from './index.ts';

let sim: Sim;
before(async () => {
  sim = await startSim();
});
after(() => sim.close());

async function session(): Promise<{ ws: ResponsesWS; lanes: ResponsesWebSocketSession }> {
  const ws = new ResponsesWS(new OpenAI({ apiKey: 'sk-any', baseURL: `${sim.url}/v1` }));
  await new Promise<void>((resolve) => ws.socket.once('open', () => resolve()));
  const limits = { maxLanes: 4, maxBufferedEvents: 1_000, maxBufferedBytes: 2 ** 20 };
  return { ws, lanes: new ResponsesWebSocketSession(ws, limits) };
}

test('a lane continues its latest response without storage, another connection cannot', async () => {
  const { ws, lanes } = await session();
  const lane = lanes.lane('one');
  lane.create({ model: 'demo', input: 'Use get_word.', store: false, tools: [TOOL] });
  const first = await lane.finalResponse();
  const call = first.output.find((item) => item.type === 'function_call') ?? assert.fail();
  const result = { type: 'function_call_output' as const, call_id: call.call_id, output: 'plum' };
  const next = { model: 'demo', input: [result], previous_response_id: first.id, store: false };
  lane.create(next);
  assert.match((await lane.finalResponse()).output_text, /plum/);
  const other = await session();
  const stranger = other.lanes.lane();
  stranger.create(next);
  await assert.rejects(stranger.finalResponse(), /failed/);
  ws.close();
  other.ws.close();
});

const TOOL = {
  type: 'function' as const,
  name: 'get_word',
  description: 'A word',
  parameters: { type: 'object', properties: {} },
  strict: false,
};

test('faults are error frames that keep the connection open', async () => {
  const { ws, lanes } = await session();
  const lane = lanes.lane();
  lane.create({ model: 'demo@fault=429', input: 'x' });
  await assert.rejects(lane.finalResponse());
  lane.create({ model: 'demo', input: 'x' });
  assert.equal((await lane.finalResponse()).status, 'completed');
  ws.close();
});

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
