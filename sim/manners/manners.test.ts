import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Chance } from '../chance.ts';
import { type Sim, startSim } from '../index.ts';
import { DIALECTS, type Dialect } from './manner.ts';
import { play } from './play.ts';
import { chooseHarmless, MANNERS, mannersOf } from './table.ts';

let sim: Sim;
before(async () => {
  sim = await startSim({ seed: false });
});
after(() => sim.close());

const PROMPT = 'What is the weather in "Zürich"? explain, use get_weather and get_time in parallel';
const NAMES = ['get_weather', 'get_time'];
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const PATHS: Readonly<Record<Dialect, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  generate: '/v1beta/models/m:generateContent',
};
const BODIES: Readonly<Record<Dialect, (stream: boolean, text: string) => object>> = {
  chat: (stream, content) => ({
    model: 'm',
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    messages: [{ role: 'user', content }],
    ...(content === PROMPT && {
      tools: NAMES.map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } })),
    }),
  }),
  messages: (stream, content) => ({
    model: 'm',
    stream,
    max_tokens: 1_000,
    messages: [{ role: 'user', content }],
    ...(content === PROMPT && { tools: NAMES.map((name) => ({ name, input_schema: SCHEMA })) }),
  }),
  responses: (stream, input) => ({
    model: 'm',
    stream,
    input,
    ...(input === PROMPT && {
      tools: NAMES.map((name) => ({ type: 'function', name, parameters: SCHEMA, strict: false })),
    }),
  }),
  generate: (_, text) => ({
    contents: [{ role: 'user', parts: [{ text }] }],
    ...(text === PROMPT && {
      tools: [{ functionDeclarations: NAMES.map((name) => ({ name, parameters: SCHEMA })) }],
    }),
  }),
};

async function ask(dialect: Dialect, isStream: boolean, text: string, words = ''): Promise<Response> {
  const path = isStream && dialect === 'generate' ? '/v1beta/models/m:streamGenerateContent?alt=sse' : PATHS[dialect];
  const headers = { authorization: 'Bearer sk-any', 'anthropic-version': '2023-06-01', 'x-sim': words };
  return fetch(sim.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(BODIES[dialect](isStream, text)),
  });
}

describe('manners', () => {
  test('every manner changes a reply of each of its dialects', async () => {
    const unchanged = new Map(
      Object.entries(MANNERS).flatMap(([name, { dialects }]) =>
        dialects.map((dialect) => [`${name} ${dialect}`, name]),
      ),
    );
    for (const dialect of DIALECTS)
      for (const isStream of [false, true])
        for (const text of [PROMPT, 'Grüße an 東京 🙂 and all']) {
          const response = await ask(dialect, isStream, text);
          const headers = Object.fromEntries(response.headers);
          const body = Buffer.from(await response.arrayBuffer());
          assert.equal(response.status, 200, body.toString('utf8'));
          const polite = JSON.stringify(play({ names: [], chance: new Chance('1') }, { headers, body }));
          for (const name of mannersOf(dialect, isStream ? 'stream' : 'unary')) {
            const played = play({ names: [name], chance: new Chance('1') }, { headers, body });
            if (MANNERS[name]?.swapsForm || JSON.stringify(played) !== polite) unchanged.delete(`${name} ${dialect}`);
          }
        }
    assert.deepEqual([...unchanged.keys()], []);
  });

  test('the same seed gives the same manners, another one others', () => {
    const choose = (seed: string) => chooseHarmless('chat', 'stream', new Chance(seed));
    assert.deepEqual(choose('7'), choose('7'));
    const all = new Set(Array.from({ length: 200 }, (_, n) => choose(String(n))).flat());
    assert.ok(all.size > 30, `${all.size} of the harmless manners are ever chosen`);
    assert.ok([...all].every((name) => MANNERS[name]?.effect === 'harmless'));
  });

  test('a request names its manners, and a response has them', async () => {
    const response = await ask('chat', true, 'hello', 'manners=chat_no_done+crlf+gzip;seed=7');
    assert.equal(response.headers.get('content-encoding'), 'gzip');
    const text = await response.text();
    assert.match(text, /^data: \{.*\}\r\n\r\n$/s);
    assert.doesNotMatch(text, /DONE/);
    assert.equal((await ask('chat', false, 'hello', 'manners=unknown')).status, 400);
  });

  test('a list of events without alt=sse has the manners of a stream', async () => {
    const headers = { authorization: 'Bearer sk-any', 'x-sim': 'manners=generate_no_index' };
    const body = JSON.stringify(BODIES.generate(true, 'hello'));
    const response = await fetch(`${sim.url}/v1beta/models/m:streamGenerateContent`, { method: 'POST', headers, body });
    const events = (await response.json()) as { candidates: { index?: number }[] }[];
    assert.ok(events.length > 2 && events.every(({ candidates }) => candidates[0]?.index === undefined));
  });

  test('one kind of reply in place of the other', async () => {
    for (const dialect of DIALECTS)
      for (const isStream of [false, true]) {
        const response = await ask(dialect, isStream, 'hello', 'manners=other_form');
        const type = response.headers.get('content-type') ?? '';
        assert.equal(type.startsWith('text/event-stream'), !isStream, `${dialect} ${isStream}: ${type}`);
      }
  });
});
