/** Checks of the package @anthropic-ai/sdk. */
import assert from 'node:assert/strict';
import Anthropic, { toFile } from '@anthropic-ai/sdk';
import {
  assertSimulated,
  check,
  group,
  idsOf,
  key,
  PDF,
  PNG,
  PROMPT,
  SCHEMA,
  TOOL,
  url,
  WRONG_KEY,
  when,
} from './checks.js';

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

await check('files', async () => {
  // They left beta in version 1.
  const files = client.files ?? client.beta.files;
  const { messages } = client.files ? client : client.beta;
  const file = () => toFile(PDF, 'report.pdf', { type: 'application/pdf' });
  const made = await files.upload({ file: await file() });
  await files.upload({ file: await file() });
  assert.equal((await files.retrieveMetadata(made.id)).size_bytes, PDF.length);
  assert.deepEqual(Buffer.from(await (await files.download(made.id)).arrayBuffer()), PDF);
  assert.ok((await idsOf(files.list({ limit: 1 }))).includes(made.id));
  const content = [
    { type: 'document', source: { type: 'file', file_id: made.id } },
    { type: 'text', text: 'hello' },
  ];
  assertSimulated(textOf(await messages.create(body(content))));
  assert.equal((await files.delete(made.id)).type, 'file_deleted');
  await assert.rejects(files.retrieveMetadata(made.id), Anthropic.NotFoundError);
});

await check('batch', async () => {
  const { batches } = client.messages;
  const requests = ['one', 'two'].map((custom_id) => ({ custom_id, params: body('hello') }));
  const made = await batches.create({ requests });
  const batch = await when(
    () => batches.retrieve(made.id),
    ({ processing_status: status }) => status === 'ended',
  );
  assert.equal(batch.request_counts.succeeded, 2);
  const results = [];
  for await (const { custom_id, result } of await batches.results(made.id))
    results.push([custom_id, result.type, textOf(result.message) !== '']);
  assert.deepEqual(results, [
    ['one', 'succeeded', true],
    ['two', 'succeeded', true],
  ]);
  await batches.create({ requests });
  assert.ok((await idsOf(batches.list({ limit: 1 }))).includes(made.id));
  await assert.rejects(batches.cancel(made.id), Anthropic.BadRequestError);
  assert.equal((await batches.delete(made.id)).type, 'message_batch_deleted');
  await assert.rejects(batches.retrieve(made.id), Anthropic.NotFoundError);
});

await check('wrong key', async () => {
  const other = new Anthropic({ baseURL: url, apiKey: WRONG_KEY });
  await assert.rejects(other.messages.create(body('hello')), Anthropic.AuthenticationError);
  await assert.rejects(other.models.list(), Anthropic.AuthenticationError);
});
