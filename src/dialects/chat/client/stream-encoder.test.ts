import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { decodeAll, replyContextFor, VECTORS } from '../../../../test/support/dialects/chat.ts';
import type { ReplyContext } from '../../codec.ts';
import { fold, unfold } from '../../hub/fold.ts';
import { type HubEvent, type HubItem, type HubReply, type JsonObject, NO_USAGE } from '../../hub/types.ts';
import { wrap } from '../../opaque/envelope.ts';
import { isObject, maybeList, maybeObject } from '../../wire/read.ts';
import { encodeReply } from './encode-reply.ts';
import { openEncoder } from './stream-encoder.ts';

const streamOf = (events: readonly HubEvent[], context: ReplyContext): string => {
  const encoder = openEncoder(context);
  return events.map((event) => encoder.push(event)).join('');
};
const blocks = (text: string): string[] =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map((block) => block.replace(/^data: /, ''));
const objects = (text: string): JsonObject[] =>
  blocks(text).flatMap((data) => (data === '[DONE]' ? [] : [maybeObject(JSON.parse(data))]));
const choiceOf = (chunk: JsonObject): JsonObject => maybeObject(maybeList(chunk.choices)[0]);
const deltas = (text: string): JsonObject[] => objects(text).map((one) => maybeObject(choiceOf(one).delta));

const reply = (items: readonly HubItem[], more: Partial<HubReply> = {}): HubReply => ({
  id: 'msg_upstream1',
  model: 'up',
  items,
  stop: 'end',
  usage: { input: 10, cacheRead: 4, cacheWrite: 2, output: 6, reasoning: 3 },
  ...more,
});
const call = (more: object = {}): HubItem => ({
  kind: 'tool_call',
  callId: 'call_a',
  name: 'f',
  form: 'function',
  args: '{"x":1}',
  ...more,
});
const message = (text: string, more: object = {}): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts: [{ kind: 'text', text, ...more }],
});
const CONTEXT = replyContextFor({});

// ---------------------------------------------------------------- official SDKs

const SDKS = { 'openai 7': OpenAI, 'openai 6': OpenAI6 } as const;
const finalOf = async (name: keyof typeof SDKS, text: string): Promise<JsonObject> => {
  const fetch = async () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  const options = { apiKey: 'k', baseURL: 'http://localhost/v1', maxRetries: 0, fetch };
  const body = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] };
  const result: unknown =
    name === 'openai 7'
      ? await new OpenAI(options).chat.completions.stream(body).finalChatCompletion()
      : await new OpenAI6(options).chat.completions.stream(body).finalChatCompletion();
  return maybeObject(JSON.parse(JSON.stringify(result)));
};

// The stream helper of openai 6 cannot read custom tool calls.
for (const name of Object.keys(SDKS) as (keyof typeof SDKS)[])
  for (const vector of VECTORS)
    if (vector.reply && !(name === 'openai 6' && vector.name.includes('custom-tool')))
      test(`${name} accumulates the stream to the unary reply: ${vector.about}`, async () => {
        const context = replyContextFor({ stream_options: { include_usage: true } }, 'responses');
        const folded = fold(decodeAll(vector.events));
        assert.ok('reply' in folded);
        const expected = maybeObject(encodeReply(folded.reply, context));
        const final = await finalOf(name, streamOf(decodeAll(vector.events), context));
        assert.equal(final.id, expected.id);
        assert.equal(final.model, 'asked-for');
        assert.deepEqual(final.usage, expected.usage);
        assert.equal(choiceOf(final).finish_reason, choiceOf(expected).finish_reason);
        const [got, want] = [maybeObject(choiceOf(final).message), maybeObject(choiceOf(expected).message)];
        assert.equal(got.content || null, want.content || null);
        assert.equal(got.refusal ?? null, want.refusal);
        const shapes = (calls: unknown) => maybeList(calls).map(bare);
        assert.deepEqual(shapes(got.tool_calls), shapes(want.tool_calls));
      });

/** Removes the members that SDK helpers add to a call. */
function bare(value: unknown): unknown {
  const { id, type, function: fn, custom } = maybeObject(value);
  const { name, arguments: args } = maybeObject(fn);
  return isObject(custom) ? { id, type, custom } : { id, type, name, args };
}

test('the OpenAI SDK throws for an error chunk', async () => {
  const events: HubEvent[] = [
    { kind: 'start', id: 'x', model: 'm' },
    { kind: 'error', error: { code: 'upstream_error', message: 'It broke.' } },
  ];
  await assert.rejects(finalOf('openai 7', streamOf(events, CONTEXT)), /It broke/);
});

// ---------------------------------------------------------------- framing

test('encoder sends the role in the first chunk, one finish reason, and [DONE] last', () => {
  const text = streamOf(unfold(reply([message('Hi')])), CONTEXT);
  const all = objects(text);
  assert.deepEqual(choiceOf(all[0] ?? {}).delta, { role: 'assistant', content: '' });
  assert.deepEqual(
    all.map((one) => choiceOf(one).finish_reason),
    [null, null, 'stop'],
  );
  assert.equal(blocks(text).at(-1), '[DONE]');
  assert.ok(all.every((one) => one.id === 'chatcmpl-upstream1' && one.created === 1_700_000_000 && !('usage' in one)));
});

test('encoder sends usage in its own chunk, and null elsewhere, when the client requests it', () => {
  const text = streamOf(unfold(reply([message('Hi')])), replyContextFor({ stream_options: { include_usage: true } }));
  const all = objects(text);
  assert.deepEqual(
    all.slice(0, -1).map((one) => one.usage),
    [null, null, null],
  );
  assert.deepEqual(all.at(-1)?.choices, []);
  assert.deepEqual(all.at(-1)?.usage, {
    prompt_tokens: 10,
    completion_tokens: 6,
    total_tokens: 16,
    prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 3 },
  });
});

test('G 6: encoder ends a failed stream without [DONE] and sends nothing after the error', () => {
  const encoder = openEncoder(CONTEXT);
  encoder.push({ kind: 'start', id: 'x', model: 'm' });
  const text = encoder.push({
    kind: 'error',
    error: { code: 'rate_limit_exceeded', message: 'Too many.', retryAfterMs: 11_500 },
  });
  assert.deepEqual(objects(text), [
    {
      error: {
        message: 'Too many. Please try again in 12s.',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      },
    },
  ]);
  assert.ok(!text.includes('[DONE]'));
  assert.equal(encoder.push({ kind: 'finish', stop: 'end', usage: NO_USAGE }), '');
});

test('encoder sends heartbeats as SSE comments and nothing for pings', () => {
  const encoder = openEncoder(CONTEXT);
  assert.match(encoder.heartbeat(), /^: .*\n\n$/);
  assert.equal(encoder.push({ kind: 'ping' }), '');
});

// ---------------------------------------------------------------- content

test('encoders join reasoning parts and items as paragraphs of reasoning_content', () => {
  const items: HubItem[] = [
    { kind: 'reasoning', summary: ['One.', 'Two.'] },
    { kind: 'reasoning', summary: [] },
    { kind: 'reasoning', summary: ['Three.'], opaque: { issuer: 'messages', kind: 'thinking', data: 'sig' } },
    message('Done.'),
  ];
  const unary = maybeObject(choiceOf(maybeObject(encodeReply(reply(items), CONTEXT))).message);
  assert.equal(unary.reasoning_content, 'One.\n\nTwo.\n\nThree.');
  const streamed = deltas(streamOf(unfold(reply(items)), CONTEXT));
  assert.equal(streamed.map((delta) => delta.reasoning_content ?? '').join(''), unary.reasoning_content);
  assert.ok(!JSON.stringify(streamed).includes('sig'));
});

test('encoder omits reasoning when the client does not want it', () => {
  const context = { ...CONTEXT, request: { ...CONTEXT.request, clientOptions: { thoughts: false } } };
  const body = encodeReply(reply([{ kind: 'reasoning', summary: ['Secret.'] }, message('Hi')]), context);
  assert.ok(!JSON.stringify(body).includes('Secret'));
});

test('encodeReply sets content to null beside a call and to an empty string in an empty reply', () => {
  const messageOf = (items: HubItem[]) =>
    maybeObject(choiceOf(maybeObject(encodeReply(reply(items), CONTEXT))).message);
  assert.equal(messageOf([call()]).content, null);
  assert.equal(messageOf([]).content, '');
  assert.equal(messageOf([]).refusal, null);
});

test('encoder opens each call once with its index and always sends arguments', () => {
  const text = streamOf(unfold(reply([call(), call({ callId: 'call_b', args: '{}' })], { stop: 'tool' })), CONTEXT);
  assert.deepEqual(
    deltas(text).flatMap((delta) => maybeList(delta.tool_calls)),
    [
      { index: 0, id: 'call_a', type: 'function', function: { name: 'f', arguments: '' } },
      { index: 0, function: { arguments: '{"x":1}' } },
      { index: 1, id: 'call_b', type: 'function', function: { name: 'f', arguments: '' } },
      { index: 1, function: { arguments: '{}' } },
    ],
  );
});

test('encoder sends a thought signature in the first chunk of its call, wrapped when it belongs to an account', () => {
  const signature = { issuer: 'generate-content', kind: 'thought', data: 'sig' } as const;
  const first = (more: object) => {
    const events = unfold(reply([call({ signature: { ...signature, ...more } })], { stop: 'tool' }));
    return maybeObject(maybeList(deltas(streamOf(events, replyContextFor({}, 'generate-content')))[1]?.tool_calls)[0]);
  };
  assert.deepEqual(first({}).extra_content, { google: { thought_signature: 'sig' } });
  assert.equal(first({}).id, 'call_a');
  const owned = { ...signature, account: 'acc' };
  assert.deepEqual(first({ account: 'acc' }).extra_content, { google: { thought_signature: wrap(owned) } });
});

test('encodeReply sends a custom tool call as custom when the upstream received it as a function', () => {
  const context = replyContextFor({ tools: [{ type: 'custom', custom: { name: 'patch' } }] });
  for (const item of [
    call({ name: 'patch', form: 'custom', args: 'a "b"\n' }),
    call({ name: 'patch', args: JSON.stringify({ input: 'a "b"\n' }) }),
  ]) {
    const message = maybeObject(choiceOf(maybeObject(encodeReply(reply([item], { stop: 'tool' }), context))).message);
    assert.deepEqual(message.tool_calls, [
      { id: 'call_a', type: 'custom', custom: { name: 'patch', input: 'a "b"\n' } },
    ]);
  }
});

test('encodeReply sends one function_call to a client of the legacy form', () => {
  const context = replyContextFor({ functions: [{ name: 'f' }] });
  const body = choiceOf(maybeObject(encodeReply(reply([call(), call({ callId: 'b' })], { stop: 'tool' }), context)));
  assert.equal(body.finish_reason, 'function_call');
  assert.deepEqual(maybeObject(body.message).function_call, { name: 'f', arguments: '{"x":1}' });
  assert.equal(maybeObject(body.message).tool_calls, undefined);
});

test('encodeReply counts citation offsets from the start of the content', () => {
  const note = { start: 0, end: 2, url: 'https://example.org', title: 'T' };
  const body = encodeReply(reply([message('Intro. '), message('So.', { annotations: [note] })]), CONTEXT);
  assert.deepEqual(maybeObject(choiceOf(maybeObject(body)).message).annotations, [
    { type: 'url_citation', url_citation: { start_index: 7, end_index: 9, title: 'T', url: 'https://example.org' } },
  ]);
});

test('encodeReply ends a declined reply with a refusal text and the reason stop', () => {
  const body = (more: Partial<HubReply>) => choiceOf(maybeObject(encodeReply(reply([], more), CONTEXT)));
  assert.equal(body({ stop: 'refusal', refusal: 'No.' }).finish_reason, 'stop');
  assert.equal(maybeObject(body({ stop: 'refusal', refusal: 'No.' }).message).refusal, 'No.');
  assert.equal(maybeObject(body({ stop: 'refusal' }).message).refusal, 'The request was declined.');
  const late = choiceOf(maybeObject(encodeReply(reply([message('Well,')], { stop: 'refusal' }), CONTEXT)));
  assert.equal(maybeObject(late.message).refusal, 'The request was declined.');
  assert.equal(body({ stop: 'filter' }).finish_reason, 'content_filter');
  assert.equal(maybeObject(body({ stop: 'filter' }).message).refusal, null);
});

test('encodeReply sends a finish reason that matches the presence of calls', () => {
  const reason = (items: HubItem[], stop: HubReply['stop']) =>
    choiceOf(maybeObject(encodeReply(reply(items, { stop }), CONTEXT))).finish_reason;
  assert.equal(reason([call()], 'end'), 'tool_calls');
  assert.equal(reason([message('x')], 'tool'), 'stop');
  assert.equal(reason([call()], 'length'), 'length');
  assert.equal(reason([message('x')], 'stop_sequence'), 'stop');
  assert.equal(reason([message('x')], 'context_full'), 'length');
});

test('encoders fail on a malformed call in both forms', () => {
  assert.throws(() => encodeReply(reply([], { stop: 'malformed_call' }), CONTEXT), { code: 'upstream_error' });
  const text = streamOf(unfold(reply([], { stop: 'malformed_call' })), CONTEXT);
  assert.ok(text.includes('"error"') && !text.includes('[DONE]'));
});

test('encodeReply returns an image that the client did not ask for', () => {
  const image = { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AA==' } } as const;
  const item: HubItem = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'Here: ' }, image] };
  const { content, images } = maybeObject(choiceOf(maybeObject(encodeReply(reply([item]), CONTEXT))).message);
  const url = 'data:image/png;base64,AA==';
  assert.deepEqual([content, images], ['Here: ', [{ type: 'image_url', image_url: { url } }]]);
});

test('encodeReply returns metadata and the service tier used', () => {
  const body = maybeObject(
    encodeReply(reply([], { usage: { ...NO_USAGE, tier: 'standard' } }), replyContextFor({ metadata: { a: 'b' } })),
  );
  assert.deepEqual(body.metadata, { a: 'b' });
  assert.equal(body.service_tier, 'default');
});
