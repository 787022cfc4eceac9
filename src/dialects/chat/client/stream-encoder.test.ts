import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { answerFor, decodeAll, VECTORS } from '../../../../test/support/dialects/chat.ts';
import type { ReplyContext } from '../../codec.ts';
import { fold, unfold } from '../../hub/fold.ts';
import { type HubEvent, type HubItem, type HubReply, type JsonObject, NO_USAGE } from '../../hub/types.ts';
import { wrap } from '../../opaque/envelope.ts';
import { isObject, maybeList, maybeObject } from '../../wire/read.ts';
import { encodeReply } from '../reply.ts';
import { openEncoder } from './stream-encoder.ts';

const streamOf = (events: readonly HubEvent[], answer: ReplyContext): string => {
  const encoder = openEncoder(answer);
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
const say = (text: string, more: object = {}): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts: [{ kind: 'text', text, ...more }],
});
const plain = answerFor({});

// ---------------------------------------------------------------- the official SDKs as judges

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

// The helper of the older line cannot read custom calls, whoever sends them.
for (const name of Object.keys(SDKS) as (keyof typeof SDKS)[])
  for (const vector of VECTORS)
    if (vector.reply && !(name === 'openai 6' && vector.name.includes('custom-tool')))
      test(`${name} accumulates the stream to the unary answer: ${vector.about}`, async () => {
        const answer = answerFor({ stream_options: { include_usage: true } }, 'responses');
        const folded = fold(decodeAll(vector.events));
        assert.ok('reply' in folded);
        const expected = maybeObject(encodeReply(folded.reply, answer));
        const final = await finalOf(name, streamOf(decodeAll(vector.events), answer));
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

/** SDK helpers add members of their own to a call. */
function bare(value: unknown): unknown {
  const { id, type, function: fn, custom } = maybeObject(value);
  const { name, arguments: args } = maybeObject(fn);
  return isObject(custom) ? { id, type, custom } : { id, type, name, args };
}

test('the SDK raises an error chunk as an error', async () => {
  const events: HubEvent[] = [
    { kind: 'start', id: 'x', model: 'm' },
    { kind: 'error', error: { code: 'upstream_error', message: 'It broke.' } },
  ];
  await assert.rejects(finalOf('openai 7', streamOf(events, plain)), /It broke/);
});

// ---------------------------------------------------------------- framing

test('the first chunk has the role, one has the finish reason, the last block is the end marker', () => {
  const text = streamOf(unfold(reply([say('Hi')])), plain);
  const all = objects(text);
  assert.deepEqual(choiceOf(all[0] ?? {}).delta, { role: 'assistant', content: '' });
  assert.deepEqual(
    all.map((one) => choiceOf(one).finish_reason),
    [null, null, 'stop'],
  );
  assert.equal(blocks(text).at(-1), '[DONE]');
  assert.ok(all.every((one) => one.id === 'chatcmpl-upstream1' && one.created === 1_700_000_000 && !('usage' in one)));
});

test('usage is a chunk of its own, and null elsewhere, only where it was asked for', () => {
  const text = streamOf(unfold(reply([say('Hi')])), answerFor({ stream_options: { include_usage: true } }));
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

test('an error ends the stream without the end marker, and nothing follows', () => {
  const encoder = openEncoder(plain);
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

test('heartbeats are comments, pings say nothing', () => {
  const encoder = openEncoder(plain);
  assert.match(encoder.heartbeat(), /^: .*\n\n$/);
  assert.equal(encoder.push({ kind: 'ping' }), '');
});

// ---------------------------------------------------------------- content

test('thoughts of several parts and items are paragraphs of one reasoning_content', () => {
  const items: HubItem[] = [
    { kind: 'reasoning', summary: ['One.', 'Two.'] },
    { kind: 'reasoning', summary: [] },
    { kind: 'reasoning', summary: ['Three.'], opaque: { issuer: 'messages', kind: 'thinking', data: 'sig' } },
    say('Done.'),
  ];
  const unary = maybeObject(choiceOf(maybeObject(encodeReply(reply(items), plain))).message);
  assert.equal(unary.reasoning_content, 'One.\n\nTwo.\n\nThree.');
  const streamed = deltas(streamOf(unfold(reply(items)), plain));
  assert.equal(streamed.map((delta) => delta.reasoning_content ?? '').join(''), unary.reasoning_content);
  assert.ok(!JSON.stringify(streamed).includes('sig'));
});

test('a client that wants no thoughts gets none', () => {
  const answer = { ...plain, request: { ...plain.request, wants: { thoughts: false } } };
  const told = encodeReply(reply([{ kind: 'reasoning', summary: ['Secret.'] }, say('Hi')]), answer);
  assert.ok(!JSON.stringify(told).includes('Secret'));
});

test('content is null beside a call, and empty when nothing was said at all', () => {
  const message = (items: HubItem[]) => maybeObject(choiceOf(maybeObject(encodeReply(reply(items), plain))).message);
  assert.equal(message([call()]).content, null);
  assert.equal(message([]).content, '');
  assert.equal(message([]).refusal, null);
});

test('a call is told with its index, opened once, and never without arguments', () => {
  const text = streamOf(unfold(reply([call(), call({ callId: 'call_b', args: '' })], { stop: 'tool' })), plain);
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

test('a thought signature stands on the first chunk of its call: bare, or wrapped when an account owns it', () => {
  const signature = { issuer: 'generate-content', kind: 'thought', data: 'sig' } as const;
  const first = (more: object) => {
    const events = unfold(reply([call({ signature: { ...signature, ...more } })], { stop: 'tool' }));
    return maybeObject(maybeList(deltas(streamOf(events, answerFor({}, 'generate-content')))[1]?.tool_calls)[0]);
  };
  assert.deepEqual(first({}).extra_content, { google: { thought_signature: 'sig' } });
  assert.equal(first({}).id, 'call_a');
  const owned = { ...signature, account: 'acc' };
  assert.deepEqual(first({ account: 'acc' }).extra_content, { google: { thought_signature: wrap(owned) } });
});

test('a custom tool is told as custom, also when it went upstream as a function of one string', () => {
  const answer = answerFor({ tools: [{ type: 'custom', custom: { name: 'patch' } }] });
  for (const item of [
    call({ name: 'patch', form: 'custom', args: 'a "b"\n' }),
    call({ name: 'patch', args: JSON.stringify({ input: 'a "b"\n' }) }),
  ]) {
    const message = maybeObject(choiceOf(maybeObject(encodeReply(reply([item], { stop: 'tool' }), answer))).message);
    assert.deepEqual(message.tool_calls, [
      { id: 'call_a', type: 'custom', custom: { name: 'patch', input: 'a "b"\n' } },
    ]);
  }
});

test('a client of the older form gets one function_call and its finish reason', () => {
  const answer = answerFor({ functions: [{ name: 'f' }] });
  const told = choiceOf(maybeObject(encodeReply(reply([call(), call({ callId: 'b' })], { stop: 'tool' }), answer)));
  assert.equal(told.finish_reason, 'function_call');
  assert.deepEqual(maybeObject(told.message).function_call, { name: 'f', arguments: '{"x":1}' });
  assert.equal(maybeObject(told.message).tool_calls, undefined);
});

test('citations count from the beginning of the whole content', () => {
  const note = { start: 0, end: 2, url: 'https://example.org', title: 'T' };
  const told = encodeReply(reply([say('Intro. '), say('So.', { annotations: [note] })]), plain);
  assert.deepEqual(maybeObject(choiceOf(maybeObject(told)).message).annotations, [
    { type: 'url_citation', url_citation: { start_index: 7, end_index: 9, title: 'T', url: 'https://example.org' } },
  ]);
});

test('a declined answer is content_filter with a refusal, in the words of the provider or in ours', () => {
  const told = (more: Partial<HubReply>) => choiceOf(maybeObject(encodeReply(reply([], more), plain)));
  assert.equal(told({ stop: 'refusal', refusal: 'No.' }).finish_reason, 'content_filter');
  assert.equal(maybeObject(told({ stop: 'refusal', refusal: 'No.' }).message).refusal, 'No.');
  assert.equal(maybeObject(told({ stop: 'refusal' }).message).refusal, 'The request was declined.');
  assert.equal(told({ stop: 'filter' }).finish_reason, 'content_filter');
  assert.equal(maybeObject(told({ stop: 'filter' }).message).refusal, null);
});

test('the finish reason never contradicts the calls that were sent', () => {
  const reason = (items: HubItem[], stop: HubReply['stop']) =>
    choiceOf(maybeObject(encodeReply(reply(items, { stop }), plain))).finish_reason;
  assert.equal(reason([call()], 'end'), 'tool_calls');
  assert.equal(reason([say('x')], 'tool'), 'stop');
  assert.equal(reason([call()], 'length'), 'length');
  assert.equal(reason([say('x')], 'stop_sequence'), 'stop');
  assert.equal(reason([say('x')], 'context_full'), 'length');
});

test('a malformed call is a failure in both forms', () => {
  assert.throws(() => encodeReply(reply([], { stop: 'malformed_call' }), plain), { code: 'upstream_error' });
  const text = streamOf(unfold(reply([], { stop: 'malformed_call' })), plain);
  assert.ok(text.includes('"error"') && !text.includes('[DONE]'));
});

test('an image in the answer leaves a note', () => {
  const image = { kind: 'image', source: { kind: 'base64', mime: 'image/png', data: 'AA==' } } as const;
  const item: HubItem = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'Here: ' }, image] };
  const told = encodeReply(reply([item]), plain);
  assert.equal(maybeObject(choiceOf(maybeObject(told)).message).content, 'Here: [image omitted]');
});

test('metadata and the effective tier are echoed', () => {
  const told = maybeObject(
    encodeReply(reply([], { usage: { ...NO_USAGE, tier: 'standard' } }), answerFor({ metadata: { a: 'b' } })),
  );
  assert.deepEqual(told.metadata, { a: 'b' });
  assert.equal(told.service_tier, 'default');
});
