/** Checks of the package openai. */
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
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

const model = 'demo-responses';
const picture = `data:image/png;base64,${PNG}`;
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
const user = (content) => [{ role: 'user', content }];

await check('chat text', async () => {
  const reply = await client.chat.completions.create({ model, messages: user('hello') });
  assertSimulated(reply.choices[0].message.content);
  assert.ok(reply.usage.total_tokens > 0);
});

await check('chat stream', async () => {
  const stream_options = { include_usage: true };
  const stream = await client.chat.completions.create({
    model,
    messages: user('hello'),
    stream: true,
    stream_options,
  });
  let text = '';
  let usage;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assertSimulated(text);
  assert.ok(usage.total_tokens > 0);
});

await check('chat stream helper', async () => {
  const stream = client.chat.completions.stream({ model, messages: user('hello') });
  assertSimulated(await stream.finalContent());
});

await check('chat tool', async () => {
  const tools = [{ type: 'function', function: { name: TOOL, description: 'Weather', parameters: SCHEMA } }];
  const first = await client.chat.completions.create({ model, tools, messages: user(PROMPT) });
  const { message } = first.choices[0];
  const [call] = message.tool_calls;
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris' });
  const result = { role: 'tool', tool_call_id: call.id, content: 'sunny' };
  const second = await client.chat.completions.create({ model, tools, messages: [...user(PROMPT), message, result] });
  assert.match(second.choices[0].message.content, /sunny/);
});

await check('chat image', async () => {
  const parts = [
    { type: 'text', text: 'hello' },
    { type: 'image_url', image_url: { url: picture } },
  ];
  const reply = await client.chat.completions.create({ model, messages: user(parts) });
  assertSimulated(reply.choices[0].message.content);
});

await check('response text', async () => {
  const reply = await client.responses.create({ model, input: 'hello' });
  assertSimulated(reply.output_text);
  assert.ok(reply.usage.total_tokens > 0);
});

await check('response stream', async () => {
  const stream = client.responses.stream({ model, input: 'hello' });
  let text = '';
  for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
  assertSimulated(text);
  assert.equal((await stream.finalResponse()).output_text, text);
});

await check('response tool', async () => {
  const tools = [{ type: 'function', name: TOOL, description: 'Weather', parameters: SCHEMA, strict: false }];
  const first = await client.responses.create({ model, tools, input: user(PROMPT) });
  const call = first.output.find(({ type }) => type === 'function_call');
  assert.deepEqual(JSON.parse(call.arguments), { city: 'Paris' });
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' };
  const second = await client.responses.create({ model, tools, input: [...user(PROMPT), ...first.output, result] });
  assert.match(second.output_text, /sunny/);
  const stored = await client.responses.create({ model, tools, previous_response_id: first.id, input: [result] });
  assert.match(stored.output_text, /sunny/);
});

await check('response image', async () => {
  const parts = [
    { type: 'input_text', text: 'hello' },
    { type: 'input_image', image_url: picture, detail: 'auto' },
  ];
  assertSimulated((await client.responses.create({ model, input: user(parts) })).output_text);
});

await check('response token count', async () => {
  const { input_tokens } = await client.responses.inputTokens.count({ model, input: 'hello' });
  assert.ok(input_tokens > 0);
});

await check('model list', async () => {
  const names = [];
  for await (const { id } of client.models.list()) names.push(id);
  assert.ok(names.includes(model), names.join());
  assert.equal((await client.models.retrieve(model)).id, model);
});

await check('files', async () => {
  const file = () => toFile(PDF, 'report.pdf', { type: 'application/pdf' });
  const made = await client.files.create({ file: await file(), purpose: 'user_data' });
  await client.files.create({ file: await file(), purpose: 'user_data' });
  assert.equal((await client.files.waitForProcessing(made.id)).status, 'processed');
  assert.equal((await client.files.retrieve(made.id)).filename, 'report.pdf');
  assert.deepEqual(Buffer.from(await (await client.files.content(made.id)).arrayBuffer()), PDF);
  assert.ok((await idsOf(client.files.list({ limit: 1, purpose: 'user_data' }))).includes(made.id));
  const response = user([
    { type: 'input_file', file_id: made.id },
    { type: 'input_text', text: 'hello' },
  ]);
  assertSimulated((await client.responses.create({ model, input: response })).output_text);
  const messages = user([
    { type: 'file', file: { file_id: made.id } },
    { type: 'text', text: 'hello' },
  ]);
  assertSimulated((await client.chat.completions.create({ model, messages })).choices[0].message.content);
  assert.ok((await client.files.delete(made.id)).deleted);
  await assert.rejects(client.files.retrieve(made.id), OpenAI.NotFoundError);
});

for (const [endpoint, body, kind] of [
  ['/v1/responses', { model, input: 'hello' }, 'response'],
  ['/v1/chat/completions', { model, messages: user('hello') }, 'chat.completion'],
])
  await check(`batch for ${endpoint}`, async () => {
    const lines = ['one', 'two'].map((id) => JSON.stringify({ custom_id: id, method: 'POST', url: endpoint, body }));
    const file = await client.files.create({
      file: await toFile(Buffer.from(lines.join('\n')), 'in.jsonl'),
      purpose: 'batch',
    });
    const made = await client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h' });
    const batch = await when(
      () => client.batches.retrieve(made.id),
      ({ status }) => status !== 'in_progress',
    );
    assert.deepEqual(batch.request_counts, { total: 2, completed: 2, failed: 0 }, JSON.stringify(batch));
    const results = (await (await client.files.content(batch.output_file_id)).text()).trim().split('\n');
    assert.deepEqual(
      results.map((line) => [JSON.parse(line).custom_id, JSON.parse(line).response.body.object]),
      [
        ['one', kind],
        ['two', kind],
      ],
    );
    assert.ok((await idsOf(client.batches.list({ limit: 1 }))).includes(batch.id));
    await assert.rejects(client.batches.cancel(batch.id), OpenAI.BadRequestError);
  });

await check('conversation', async () => {
  const { conversations } = client;
  const said = (content) => ({ type: 'message', role: 'user', content });
  const made = await conversations.create({ items: [said('hello')], metadata: { topic: 'lamp' } });
  assertSimulated((await client.responses.create({ model, input: 'hello', conversation: made.id })).output_text);
  const { data } = await conversations.items.create(made.id, { items: [said('again')] });
  assert.equal((await conversations.items.retrieve(data[0].id, { conversation_id: made.id })).role, 'user');
  const ids = await idsOf(conversations.items.list(made.id, { limit: 1, order: 'asc' }));
  assert.equal(ids.length, 4, 'the first item, the request, its reply and the last item');
  await conversations.items.delete(data[0].id, { conversation_id: made.id });
  assert.equal((await conversations.update(made.id, { metadata: { topic: 'desk' } })).metadata.topic, 'desk');
  assert.equal((await conversations.retrieve(made.id)).metadata.topic, 'desk');
  assert.ok((await conversations.delete(made.id)).deleted);
  await assert.rejects(conversations.retrieve(made.id), OpenAI.NotFoundError);
});

// Version 5 has no videos. All keys reach the same video models.
if (client.videos && group === 'responses') await check('videos', checkVideos);

/** `videos.create` sends multipart, which the contract excludes; the same client posts JSON. */
async function checkVideos() {
  const body = { model: 'demo-video-a', prompt: 'a lamp', seconds: '5', size: '1280x720', return_last_frame: true };
  let video = await client.post('/videos', { body });
  while (video.status === 'queued' || video.status === 'in_progress') {
    await new Promise((resolve) => setTimeout(resolve, 500));
    video = await client.videos.retrieve(video.id);
  }
  assert.equal(video.status, 'completed', JSON.stringify(video));
  const content = await client.videos.downloadContent(video.id);
  assert.equal(Buffer.from(await content.arrayBuffer()).toString('latin1', 4, 8), 'ftyp');
  const thumbnail = await client.videos.downloadContent(video.id, { variant: 'thumbnail' });
  assert.match(thumbnail.headers.get('content-type'), /^image\//);
  const ids = [];
  for await (const { id } of client.videos.list({ limit: 1 })) if (ids.push(id) === 2) break;
  assert.ok(ids.includes(video.id));
  assert.ok((await client.videos.delete(video.id)).deleted);
  await assert.rejects(client.videos.retrieve(video.id), OpenAI.NotFoundError);
}

await check('wrong key', async () => {
  const other = new OpenAI({ baseURL: `${url}/v1`, apiKey: WRONG_KEY });
  await assert.rejects(other.responses.create({ model, input: 'hello' }), OpenAI.AuthenticationError);
  await assert.rejects(other.chat.completions.create({ model, messages: user('hello') }), OpenAI.AuthenticationError);
  await assert.rejects(other.models.list(), OpenAI.AuthenticationError);
});
