/** A call reserves the rates of audio only where it may have some: text fits into a small balance although audio is dear. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { wavFile } from '../support/media-files.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;

before(async () => {
  sim = await startSim();
  gateway = await startGateway({ setup: basicSetup(sim.url) });
  const groups = ['openai', 'gemini'];
  const prices = { input: '1', output: '2', audio_input: '1000', cached_audio_input: '900', audio_output: '2000' };
  keys = await gateway.apply({
    models: [{ id: 'demo-*', groups, prices, context: 200_000 }],
    users: [{ id: 'poor', balance: '0.05' }],
    keys: groups.map((group) => ({ user: 'poor', group })),
  });
});
after(() => gateway.stop().finally(() => sim.close()));

const GENERATE = '/v1beta/models/demo-generate-2:generateContent';
const messages = [{ role: 'user', content: 'hello' }];
const sound = wavFile(60).toString('base64');
const contents = [{ role: 'user', parts: [{ text: 'hello' }] }];
const chat = { model: 'demo-chat', messages, max_completion_tokens: 100 };
const generate = { contents, generationConfig: { maxOutputTokens: 100 } };
const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };

for (const [about, path, body, expected] of [
  ['text in chat completions', '/v1/chat/completions', chat, 200],
  ['text in responses', '/v1/responses', { model: 'demo-responses-2', input: 'hello', max_output_tokens: 100 }, 200],
  ['text in generate-content', GENERATE, generate, 200],
  ['a picture', '/v1/chat/completions', { ...chat, messages: [{ role: 'user', content: [picture] }] }, 200],
  [
    'audio in the input',
    '/v1/chat/completions',
    {
      ...chat,
      messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: sound, format: 'wav' } }] }],
    },
    402,
  ],
  [
    'audio in the output',
    '/v1/chat/completions',
    { ...chat, modalities: ['text', 'audio'], audio: { voice: 'a' } },
    402,
  ],
  ['a voice alone', '/v1/chat/completions', { ...chat, audio: { voice: 'a' } }, 402],
  [
    'audio from generate-content',
    GENERATE,
    { contents, generationConfig: { maxOutputTokens: 100, responseModalities: ['AUDIO'] } },
    402,
  ],
  [
    'a voice of generate-content in the other spelling',
    GENERATE,
    { contents, generation_config: { max_output_tokens: 100, speech_config: {} } },
    402,
  ],
] as const)
  test(`${about} gets ${expected} with five cents`, async () => {
    const key = path === GENERATE ? keys.gemini : keys.openai;
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, expected, await response.text());
  });

test('a member for audio counts however its name is written', async () => {
  const text = JSON.stringify({ ...chat, modalities: ['text', 'audio'] }).replace('modalities', 'mod\\u0061lities');
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.openai}`, 'content-type': 'application/json' },
    body: text,
  });
  assert.equal(response.status, 402, await response.text());
});
