// set: all; requests that cause as much work as they may
/** The work that one body may cause: beyond the budget of steps it is refused by name, in the dialect of its caller. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { webmFile } from '../support/media-files.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Readonly<Record<string, string>>;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply(basicSetup(sim.url));
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
});

/** As many elements as are read of one file, of two bytes each. */
const FILE = Buffer.concat([webmFile(1), Buffer.from(Array(249_000).fill([0xe7, 0x80]).flat())]).toString('base64');
const media = (count: number) =>
  Array(count).fill({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: FILE } });

async function post(path: string, body: object): Promise<{ status: number; text: string }> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.claude}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-messages', ...body }),
  });
  return { status: response.status, text: await response.text() };
}
const messages = (count: number) => ({ max_tokens: 9, messages: [{ role: 'user', content: media(count) }] });

test('media that together need more steps than a body may cause are refused, however small each is', async () => {
  sim.journal.clear();
  const { status, text } = await post('/v1/messages', messages(11));
  const { type, error } = JSON.parse(text) as { type: string; error: { type: string; message: string } };
  assert.deepEqual([status, type, error.type], [400, 'error', 'invalid_request_error'], text);
  assert.match(error.message, /more than 2500000 values, and boxes, frames and samples/);
  const input = [
    {
      role: 'user',
      content: media(11).map(({ source }) => ({
        type: 'input_image',
        image_url: `data:image/png;base64,${source.data}`,
      })),
    },
  ];
  const converted = await post('/v1/responses', { input });
  assert.equal(converted.status, 400, converted.text);
  assert.equal((JSON.parse(converted.text) as { error: { code: string } }).error.code, 'request_too_complex');
  assert.equal(sim.journal.requests.length, 0, 'nothing reaches the provider');
});

test('what the scan of a request has taken is missing when its tokens are estimated', async () => {
  const input = [
    {
      role: 'user',
      content: media(6).map(({ source }) => ({
        type: 'input_image',
        image_url: `data:image/png;base64,${source.data}`,
      })),
    },
  ];
  const headers = { authorization: `Bearer ${keys.openai}`, 'content-type': 'application/json' };
  const create = async (more: object): Promise<{ status: number; text: string }> => {
    const body = JSON.stringify({ model: 'demo-responses', input, ...more });
    const response = await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers, body });
    return { status: response.status, text: await response.text() };
  };
  const served = await create({});
  assert.equal(served.status, 200, served.text);
  sim.journal.clear();
  const { status, text } = await create({ background: true });
  assert.equal(status, 400, text);
  assert.equal((JSON.parse(text) as { error: { code: string } }).error.code, 'request_too_complex');
  assert.equal(sim.journal.requests.length, 0, 'nothing reaches the provider');
});

test('a request within the budget is served, and so is its token count', async () => {
  assert.equal((await post('/v1/messages', messages(2))).status, 200);
  assert.equal((await post('/v1/messages/count_tokens', messages(2))).status, 200);
});
