/** Checks of the package @anthropic-ai/sdk. */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { assertSimulated, check, group, key, PNG, PROMPT, SCHEMA, TOOL, url, WRONG_KEY } from './checks.js';

const model = 'demo-messages';
const client = new Anthropic({ baseURL: url, apiKey: key });
const body = (content, more = {}) => ({ model, max_tokens: 1000, messages: [{ role: 'user', content }], ...more });
const textOf = ({ content }) => content.map((block) => (block.type === 'text' ? block.text : '')).join('');

await check('text', async () => {
  const message = await client.messages.create(body('hello', { system: 'Be brief.' }));
  assertSimulated(textOf(message));
  assert.equal(message.stop_reason, 'end_turn');
  assert.ok(message.usage.output_tokens > 0);
});

await check('stream', async () => {
  let text = '';
  const stream = client.messages.stream(body('hello')).on('text', (delta) => {
    text += delta;
  });
  assert.equal(textOf(await stream.finalMessage()), text);
  assertSimulated(text);
});

await check('raw stream', async () => {
  const types = [];
  for await (const { type } of await client.messages.create(body('hello', { stream: true }))) types.push(type);
  assert.equal(types[0], 'message_start');
  assert.equal(types.at(-1), 'message_stop');
});

await check('tool', async () => {
  const tools = [{ name: TOOL, description: 'Weather', input_schema: SCHEMA }];
  const first = await client.messages.create(body(PROMPT, { tools }));
  const use = first.content.find(({ type }) => type === 'tool_use');
  assert.deepEqual(use.input, { city: 'Paris' });
  const messages = [
    { role: 'user', content: PROMPT },
    { role: 'assistant', content: first.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'sunny' }] },
  ];
  assert.match(textOf(await client.messages.create({ model, max_tokens: 1000, tools, messages })), /sunny/);
});

await check('image', async () => {
  const source = { type: 'base64', media_type: 'image/png', data: PNG };
  const content = [
    { type: 'text', text: 'hello' },
    { type: 'image', source },
  ];
  assertSimulated(textOf(await client.messages.create(body(content))));
});

await check('token count', async () => {
  const count = () => client.messages.countTokens({ model, messages: [{ role: 'user', content: 'hello' }] });
  if (group === 'responses') await assert.rejects(count(), Anthropic.NotFoundError);
  else assert.ok((await count()).input_tokens > 0);
});

await check('model list', async () => {
  const names = [];
  for await (const { id } of client.models.list()) names.push(id);
  assert.ok(names.includes(model), names.join());
  assert.equal((await client.models.retrieve(model)).id, model);
});

await check('wrong key', async () => {
  const other = new Anthropic({ baseURL: url, apiKey: WRONG_KEY });
  await assert.rejects(other.messages.create(body('hello')), Anthropic.AuthenticationError);
  await assert.rejects(other.models.list(), Anthropic.AuthenticationError);
});
