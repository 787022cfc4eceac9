/** Converted calls that succeed: equal replies streamed and unary, heartbeats, back-pressure and client disconnects. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sim, startSim } from '../../sim/index.ts';
import { bufferedFor } from '../support/back-pressure.ts';
import {
  blockData,
  type ChatInput,
  type ClientDialect,
  groupsSetup,
  PAIRS,
  type Pair,
  pairName,
  parseBlocks,
  post,
  rawPost,
  requestBody,
  type SseBlock,
  type TestAccount,
  type TestGroup,
} from '../support/conversion-harness.ts';
import { type LogLine, startGateway, type TestGateway } from '../support/gateway.ts';
import { longTest, someOf } from '../support/long-test.ts';
import { asStream, type Scripted, startScripted, streamEnd, streamStart } from '../support/scripted.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { SkewedClock } from '../support/skewed-clock.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let scripted: Scripted;
let gateway: TestGateway;
/** Sends heartbeats after 100 ms, and closes stalled clients when tests let the time pass. */
let impatient: TestGateway;
const impatientClock = new SkewedClock();
/** No test takes so long by itself. */
const STALLED_MS = 600_000;
const keys: Record<string, string> = {};

type DeclaredGroup = Omit<TestGroup, 'url'> & { readonly at?: () => string };
const testGroups: DeclaredGroup[] = PAIRS.map(({ group: id, upstream }) => ({ id, upstream, accounts: [{}] }));

before(async () => {
  sim = await startSim();
  scripted = await startScripted();
  gateway = await startGateway();
  const distinct = [
    ...new Map(testGroups.map(({ at, ...group }) => [group.id, at ? { ...group, url: at() } : group])).values(),
  ];
  Object.assign(keys, await gateway.apply(groupsSetup(distinct, sim.url)));
  impatient = await startGateway({
    database: gateway.database,
    clock: impatientClock,
    env: { HEARTBEAT_MS: '100', STALLED_CLIENT_MS: String(STALLED_MS) },
  });
});
after(async () => {
  await impatient.stop();
  await gateway.stop();
  await scripted.close();
  await sim.close();
});

const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

/** Declares a group with these accounts; returns its id. */
function declareGroup({ upstream }: Pair, accounts: readonly TestAccount[], at?: () => string): string {
  const id = `group-${testGroups.length}`;
  testGroups.push({ id, upstream, accounts, ...(at && { at }) });
  return id;
}

/** Tests that wait for time to pass; they run concurrently. */
const slow: (() => void)[] = [];
const slowTest = (name: string, body: () => Promise<void>): void => void slow.push(() => void test(name, body));

interface OkResponse {
  readonly headers: Headers;
  readonly text: string;
}

async function send(pair: Pair, input: ChatInput, token = key(pair.group), url = gateway.url): Promise<OkResponse> {
  const response = await post(url, pair.client, token, requestBody(pair.client, input));
  const text = await response.text();
  assert.equal(response.status, 200, text.slice(0, 500));
  return { headers: response.headers, text };
}

// ---------------------------------------------------------------- replies, independent of the dialect

interface ReplyView {
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown; readonly namespace?: string }[];
  readonly stop: unknown;
  readonly refusal: string;
  readonly model: string;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** The complete reply, for comparison. */
  readonly whole: unknown;
}

interface Message {
  readonly model: string;
  readonly content: readonly {
    readonly type: string;
    readonly text?: string;
    readonly thinking?: string;
    readonly name?: string;
    readonly input?: unknown;
  }[];
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
  readonly stop_details: { readonly explanation?: string } | null;
  readonly usage: {
    readonly input_tokens: number;
    readonly cache_read_input_tokens: number;
    readonly cache_creation_input_tokens: number;
    readonly output_tokens: number;
  };
}

interface ToolCall {
  id?: string;
  type?: string;
  function: { name: string; arguments: string };
}
interface ChatMessage {
  role: string;
  content: string | null;
  refusal: string | null;
  reasoning_content?: string;
  tool_calls?: ToolCall[];
}
interface Completion {
  readonly model: string;
  readonly choices: readonly [{ readonly message: ChatMessage; readonly finish_reason: string }];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

interface Item {
  readonly type: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly arguments?: string;
  readonly summary?: readonly { readonly text: string }[];
  readonly content?: readonly { readonly type: string; readonly text?: string; readonly refusal?: string }[];
}
interface Response {
  readonly model: string;
  readonly status: string;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly output: readonly Item[];
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly total_tokens: number;
    readonly input_tokens_details: { readonly cached_tokens: number };
  };
}

const READ_REPLY: Readonly<Record<ClientDialect, (whole: unknown) => ReplyView>> = {
  messages(whole) {
    const { model, content, stop_reason, stop_sequence, stop_details, usage } = whole as Message;
    const joined = (type: string, field: 'text' | 'thinking'): string =>
      content
        .filter((block) => block.type === type)
        .map((block) => block[field])
        .join('');
    return {
      text: joined('text', 'text'),
      thoughts: joined('thinking', 'thinking'),
      calls: content.filter(({ type }) => type === 'tool_use').map(({ name = '', input }) => ({ name, args: input })),
      stop: stop_sequence === null ? stop_reason : [stop_reason, stop_sequence],
      refusal: stop_details?.explanation ?? '',
      model,
      input: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
      cached: usage.cache_read_input_tokens,
      output: usage.output_tokens,
      whole,
    };
  },
  chat(whole) {
    const { model, choices, usage } = whole as Completion;
    const [{ message, finish_reason }] = choices;
    return {
      text: message.content ?? '',
      thoughts: message.reasoning_content ?? '',
      calls: (message.tool_calls ?? []).map((call) => ({
        name: call.function.name,
        args: JSON.parse(call.function.arguments),
      })),
      stop: finish_reason,
      refusal: message.refusal ?? '',
      model,
      input: usage.prompt_tokens,
      cached: usage.prompt_tokens_details.cached_tokens,
      output: usage.completion_tokens,
      whole,
    };
  },
  responses(whole) {
    const { model, status, incomplete_details, output, usage } = whole as Response;
    const parts = output.flatMap((item) => (item.type === 'message' ? (item.content ?? []) : []));
    return {
      text: parts.map(({ text }) => text ?? '').join(''),
      thoughts: output
        .flatMap(({ summary }) => summary ?? [])
        .map(({ text }) => text)
        .join(''),
      calls: output
        .filter(({ type }) => type === 'function_call')
        .map(({ name = '', arguments: args = '', namespace }) => ({
          name,
          args: JSON.parse(args),
          ...(namespace !== undefined && { namespace }),
        })),
      stop: incomplete_details?.reason ?? status,
      refusal: parts.map(({ refusal }) => refusal ?? '').join(''),
      model,
      input: usage.input_tokens,
      cached: usage.input_tokens_details.cached_tokens,
      output: usage.output_tokens,
      whole,
    };
  },
};

/** The reply of a stream: accumulated by the SDK where it keeps every field, else by hand. */
const FOLD: Readonly<
  Record<ClientDialect, (body: never, token: string, blocks: readonly SseBlock[]) => Promise<unknown>>
> = {
  messages: (body, token) => anthropic(gateway.url, token).messages.stream(body).finalMessage(),
  responses: (body, token) => openai(gateway.url, token).responses.stream(body).finalResponse(),
  chat: async (_body, _token, blocks) => foldChat(blocks),
};

interface Chunk {
  readonly id: string;
  readonly model: string;
  readonly created: number;
  readonly choices: readonly {
    readonly delta: Partial<Omit<ChatMessage, 'tool_calls'>> & {
      readonly tool_calls?: readonly (ToolCall & { readonly index: number })[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: unknown;
  readonly service_tier?: unknown;
}

function foldChat(blocks: readonly SseBlock[]): unknown {
  const events = blocks.filter(({ data }) => data !== undefined);
  assert.equal(events.pop()?.data, '[DONE]');
  const message: ChatMessage = { role: '', content: null, refusal: null };
  let usage: unknown;
  let tier: unknown;
  let finish: string | null | undefined;
  for (const chunk of events.map((block) => blockData(block) as unknown as Chunk)) {
    usage = chunk.usage ?? usage;
    tier = chunk.service_tier ?? tier;
    for (const { delta, finish_reason } of chunk.choices) {
      finish = finish_reason ?? finish;
      message.role ||= delta.role ?? '';
      if (delta.content) message.content = (message.content ?? '') + delta.content;
      if (delta.refusal) message.refusal = (message.refusal ?? '') + delta.refusal;
      if (delta.reasoning_content)
        message.reasoning_content = (message.reasoning_content ?? '') + delta.reasoning_content;
      for (const { index, ...call } of delta.tool_calls ?? []) {
        message.tool_calls ??= [];
        const known = message.tool_calls[index];
        if (known) known.function.arguments += call.function.arguments;
        else message.tool_calls[index] = structuredClone(call);
      }
    }
  }
  const [first] = events.map((block) => blockData(block) as unknown as Chunk);
  return {
    id: first?.id,
    object: 'chat.completion',
    created: first?.created,
    model: first?.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage,
    service_tier: tier,
  };
}

/** Fields that differ from call to call. */
const VARYING = new Set([
  ...['id', 'call_id', 'created', 'created_at', 'completed_at'],
  ...['signature', 'encrypted_content', 'thought_signature'],
]);
/** Fields that the SDK adds. */
const ADDED = new Set(['_request_id', 'parsed_output', 'output_parsed', 'parsed', 'parsed_arguments', 'output_text']);

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => !ADDED.has(name) && member !== undefined)
      .map(([name, member]) => [name, VARYING.has(name) && member !== null ? typeof member : comparable(member)])
      // A stream cannot distinguish missing content from empty content.
      .map(([name, member]) => [name, name === 'content' && member === '' ? null : member]),
  );
}

/** Sends the same request three times: to fill the provider's cache, unary, and streamed. */
async function unaryAndStreamed(
  pair: Pair,
  input: ChatInput,
  token = key(pair.group),
): Promise<readonly [ReplyView, ReplyView]> {
  await send(pair, input, token);
  const unary = await send(pair, input, token);
  const body = requestBody(pair.client, { ...input, stream: true });
  const streamed = await send(pair, { ...input, stream: true }, token);
  const folded = await FOLD[pair.client](body as never, token, parseBlocks(streamed.text));
  const view = READ_REPLY[pair.client];
  return [view(JSON.parse(unary.text)), view(folded)];
}

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const TOOLS = [
  { name: 'get_weather', description: 'Weather of a city', schema: CITY },
  { name: 'get_time', description: 'Local time of a city', schema: CITY },
];
const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

const STOP: Readonly<Record<ClientDialect, Readonly<Record<'end' | 'tool' | 'length' | 'refusal', string>>>> = {
  messages: { end: 'end_turn', tool: 'tool_use', length: 'max_tokens', refusal: 'refusal' },
  chat: { end: 'stop', tool: 'tool_calls', length: 'length', refusal: 'stop' },
  responses: { end: 'completed', tool: 'completed', length: 'max_output_tokens', refusal: 'completed' },
};

/** Where the provider filters, instead of the model declining, a chat reply ends in another way. */
const stopOf = ({ client, upstream }: Pair, { stop, filteredBy = ['generate'] }: ReplyCase): string =>
  client === 'chat' && stop === 'refusal' && filteredBy.includes(upstream) ? 'content_filter' : STOP[client][stop];

interface ReplyCase {
  readonly title: string;
  readonly input: ChatInput;
  readonly stop: keyof (typeof STOP)['chat'];
  readonly filteredBy?: readonly Pair['upstream'][];
  check?(seen: ReplyView, pair: Pair): void;
}

const REPLY_CASES: readonly ReplyCase[] = [
  {
    title: 'plain text',
    input: { text: 'hello there', system: 'Be brief.' },
    stop: 'end',
    check: ({ text }) => assert.equal(text, 'This is a simulated answer from demo-text. You said: "hello there".'),
  },
  {
    title: 'text of many scripts with line and paragraph separators',
    input: { text: 'Grüße 👩‍👩‍👧‍👦 日本語 \u2028\u2029 \\n "quoted" \u0000 end' },
    stop: 'end',
    check: ({ text }) => assert.ok(text.includes('Grüße 👩‍👩‍👧‍👦 日本語 \u2028\u2029 \\n "quoted" \u0000 end')),
  },
  {
    title: 'a tool call',
    input: { text: 'Use get_weather for "Paris".', tools: TOOLS },
    stop: 'tool',
    check: ({ calls }) => assert.deepEqual(calls, [{ name: 'get_weather', args: { city: 'Paris' } }]),
  },
  {
    title: 'parallel tool calls in order',
    input: { text: 'use get_time and get_weather for "Zürich"', tools: TOOLS },
    stop: 'tool',
    check: ({ calls }) =>
      assert.deepEqual(calls, [
        { name: 'get_time', args: { city: 'Zürich' } },
        { name: 'get_weather', args: { city: 'Zürich' } },
      ]),
  },
  {
    title: 'text before a tool call',
    input: { text: 'explain and use get_weather for "Paris"', tools: TOOLS },
    stop: 'tool',
    check: ({ text, calls }) => {
      assert.equal(text, 'I will use get_weather.');
      assert.equal(calls.length, 1);
    },
  },
  {
    title: 'thinking',
    input: { text: 'think about it', thinks: true },
    stop: 'end',
    check: ({ text, thoughts }) => {
      assert.equal(thoughts, 'The user wrote "think about it". A short simulated answer will do.');
      assert.doesNotMatch(text, /The user wrote/);
    },
  },
  {
    title: 'thinking before a tool call',
    input: { text: 'Use get_weather for "Oslo".', tools: TOOLS, thinks: true },
    stop: 'tool',
    check: ({ thoughts, calls }) => {
      assert.match(thoughts, /The user wrote/);
      assert.deepEqual(calls, [{ name: 'get_weather', args: { city: 'Oslo' } }]);
    },
  },
  {
    title: 'a refusal',
    input: { text: 'please refuse' },
    stop: 'refusal',
    check: ({ text, refusal, calls }, pair) => {
      // A messages client gets the text before the refusal; a responses provider streams the refusal as text.
      assert.equal(text, pair.client === 'messages' && pair.upstream === 'responses' ? refusal : '');
      assert.deepEqual(calls, []);
      // generate-content gives no reason for a refusal.
      if (pair.upstream !== 'generate') assert.match(refusal, /declined/);
    },
  },
  {
    title: 'a blocked prompt',
    input: { text: 'please block' },
    stop: 'refusal',
    filteredBy: ['responses', 'generate'],
  },
  {
    title: 'a reply cut at its token limit',
    input: { text: 'a long story, please, with many words in it so that it must be cut', maxTokens: 16 },
    stop: 'length',
    check: ({ text }) => assert.ok(text.length <= 64),
  },
  {
    title: 'structured output',
    input: { text: 'Describe "Ada".', schema: PERSON },
    stop: 'end',
    check: ({ text }) => {
      const { name, age, ...rest } = JSON.parse(text);
      assert.equal(name, 'Ada');
      assert.ok(Number.isInteger(age));
      assert.deepEqual(rest, {});
    },
  },
];

for (const pair of someOf(PAIRS, 3)) {
  describe(`streamed and unary replies, ${pairName(pair)}`, () => {
    for (const one of REPLY_CASES) {
      const { title, input, check } = one;
      test(`${pairName(pair)} gives the same reply streamed and unary: ${title}`, async () => {
        const [unary, streamed] = await unaryAndStreamed(pair, input);
        for (const seen of [unary, streamed]) {
          assert.equal(seen.stop, stopOf(pair, one));
          check?.(seen, pair);
        }
        assert.deepEqual(comparable(streamed.whole), comparable(unary.whole));
      });
    }
  });
}

// ---------------------------------------------------------------- usage

const lineOf = ({ headers }: OkResponse) =>
  until('the log line', () =>
    gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === headers.get('x-request-id')),
  );

for (const pair of someOf(PAIRS, 3)) {
  test(`cached input is counted by the rules of the client dialect, ${pairName(pair)}`, async () => {
    const system = `About ${pairName(pair)}: ${'s'.repeat(400)}`;
    const input: ChatInput = {
      text: 'Use get_weather for "Rome".',
      system,
      tools: TOOLS,
      more: { ...(pair.client === 'messages' && { max_tokens: 500 }) },
    };
    const [unary, streamed] = await unaryAndStreamed(pair, input);
    const tokens = (text: string): number => Math.ceil(text.length / 4);
    for (const seen of [unary, streamed]) {
      assert.ok(seen.cached >= tokens(system), `cached ${seen.cached}`);
      assert.ok(seen.input > seen.cached, 'cached tokens are part of the input tokens');
      assert.ok(seen.output > 0);
    }
    assert.deepEqual([streamed.input, streamed.cached, streamed.output], [unary.input, unary.cached, unary.output]);
    const line = await lineOf(await send(pair, input));
    assert.deepEqual([line.tokensIn, line.tokensCached, line.tokensOut], [unary.input, unary.cached, unary.output]);
    if (pair.client === 'chat')
      assert.equal((unary.whole as Completion).usage.total_tokens, unary.input + unary.output);
    if (pair.client === 'responses')
      assert.equal((unary.whole as Response).usage.total_tokens, unary.input + unary.output);
  });
}

// ---------------------------------------------------------------- headers

const UNKNOWN_FIELD = { 'unknown field,é': 1 };
const UNKNOWN_FIELD_NAME = 'unknown%20field%2C%C3%A9';

/** Fields that the conversion drops, and their names in `x-gateway-dropped`. */
const DROPPED: Readonly<Record<string, { readonly more: object; readonly names: readonly string[] }>> = {
  'messages->responses': { more: { top_k: 5, inference_geo: 'eu' }, names: ['top_k', 'inference_geo'] },
  'messages->generate': {
    more: { metadata: { user_id: 'u1' }, inference_geo: 'eu' },
    names: ['metadata.user_id', 'inference_geo'],
  },
  'chat->messages': {
    more: { seed: 1, presence_penalty: 1, verbosity: 'low' },
    names: ['seed', 'presence_penalty', 'verbosity'],
  },
  'chat->generate': { more: { verbosity: 'low', metadata: { a: 'b' } }, names: ['verbosity', 'metadata'] },
  'chat->responses': { more: { seed: 1, frequency_penalty: 1 }, names: ['seed', 'frequency_penalty'] },
  'responses->messages': {
    more: { text: { verbosity: 'low' }, truncation: 'auto' },
    names: ['text.verbosity', 'truncation'],
  },
  'responses->generate': { more: { max_tool_calls: 3, metadata: { a: 'b' } }, names: ['max_tool_calls', 'metadata'] },
};

for (const pair of someOf(PAIRS, 3)) {
  const renaming = declareGroup(pair, [{ text: 'demo-text@gap=0' }]);
  for (const stream of [false, true]) {
    test(`G 4.1: response headers of a ${stream ? 'streamed' : 'unary'} reply name the conversion, upstream model and dropped fields, ${pairName(pair)}`, async () => {
      const converted = `${pair.client}->${pair.upstream}`;
      const { more, names } = DROPPED[converted] ?? assert.fail();
      const { headers, text } = await send(
        pair,
        { model: 'alias-one', text: 'hi', stream, more: { ...more, ...UNKNOWN_FIELD } },
        key(renaming),
      );
      assert.equal(headers.get('x-gateway-converted'), converted);
      assert.equal(headers.get('x-gateway-upstream-model'), 'demo-text%40gap%3D0');
      assert.deepEqual(headers.get('x-gateway-dropped')?.split(',').sort(), [...names, UNKNOWN_FIELD_NAME].sort());
      assert.match(headers.get('x-request-id') ?? '', /^req_/);
      assert.equal(headers.get('request-id'), pair.client === 'messages' ? headers.get('x-request-id') : null);
      for (const name of ['anthropic-organization-id', 'openai-organization', 'x-ratelimit-limit-requests', 'server'])
        assert.equal(headers.get(name), null, name);
      const models = [...text.matchAll(/"model":"([^"]*)"/g)].map(([, name]) => name);
      assert.ok(models.length > 0);
      assert.deepEqual([...new Set(models)], ['alias-one'], 'the model name of the request');
      if (!stream) return assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
      assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8');
      assert.equal(headers.get('cache-control'), 'no-cache, no-transform');
      assert.equal(headers.get('x-accel-buffering'), 'no');
      assert.equal(headers.get('content-encoding'), null);
    });
  }

  test(`G 4.1: x-gateway-dropped is absent when nothing is dropped, ${pairName(pair)}`, async () => {
    const { headers } = await send(pair, { text: 'hi' });
    assert.equal(headers.get('x-gateway-dropped'), null);
  });
}

// ---------------------------------------------------------------- images

/** A PNG of one pixel. */
const IMAGE = {
  mime: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};

const IMAGE_FORM: Readonly<Record<Pair['upstream'], object>> = {
  messages: { type: 'image', source: { type: 'base64', media_type: IMAGE.mime, data: IMAGE.data } },
  responses: { type: 'input_image', image_url: `data:${IMAGE.mime};base64,${IMAGE.data}` },
  generate: { inlineData: { mimeType: IMAGE.mime, data: IMAGE.data } },
};

/** Whether `value` contains an object with these members at any depth. */
function containsObject(value: unknown, wanted: object): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fits = Object.entries(wanted).every(([name, member]) =>
    typeof member === 'object'
      ? JSON.stringify(Reflect.get(value, name)) === JSON.stringify(member)
      : Reflect.get(value, name) === member,
  );
  return fits || Object.values(value).some((member) => containsObject(member, wanted));
}

for (const pair of someOf(PAIRS, 3)) {
  test(`an image reaches the provider in the form of its dialect, ${pairName(pair)}`, async () => {
    sim.journal.clear();
    await send(pair, { text: 'what is this?', image: IMAGE });
    const sent = JSON.parse(sim.journal.requests[0]?.body?.toString('utf8') ?? '');
    assert.ok(containsObject(sent, IMAGE_FORM[pair.upstream]), JSON.stringify(sent));
  });
}

// ---------------------------------------------------------------- tool names

const FORCED: Readonly<Record<ClientDialect, (name: string) => object>> = {
  messages: (name) => ({ tool_choice: { type: 'tool', name } }),
  chat: (name) => ({ tool_choice: { type: 'function', function: { name } } }),
  responses: (name) => ({ tool_choice: { type: 'function', name } }),
};

for (const pair of someOf(PAIRS, 3)) {
  test(`tool names that the provider would reject are restored in the reply, ${pairName(pair)}`, async () => {
    const names = ['files.read', 'files_read', `long.${'x'.repeat(70)}`];
    const tools = names.map((name) => ({ name, description: 'Reads', schema: CITY }));
    for (const name of names) {
      sim.journal.clear();
      const [unary, streamed] = await unaryAndStreamed(pair, { text: 'go', tools, more: FORCED[pair.client](name) });
      assert.deepEqual(
        unary.calls.map((call) => call.name),
        [name],
      );
      assert.deepEqual(
        streamed.calls.map((call) => call.name),
        [name],
      );
    }
    if (pair.upstream !== 'generate') assert.doesNotMatch(String(sim.journal.requests[0]?.body), /"files\.read"/);
  });

  if (pair.client !== 'responses') continue;
  test(`the namespace of a tool is restored in the reply, ${pairName(pair)}`, async () => {
    const inner = ['read.file', 'read_file'].map((name) => ({
      type: 'function',
      name,
      description: 'Reads',
      parameters: CITY,
      strict: false,
    }));
    for (const ordered of [inner, inner.toReversed()]) {
      const tools = [{ type: 'namespace', name: 'mcp__files', description: 'Files', tools: ordered }];
      const [unary, streamed] = await unaryAndStreamed(pair, { text: 'go', more: { tools, tool_choice: 'required' } });
      for (const { calls } of [unary, streamed]) {
        assert.deepEqual(
          calls.map(({ name, namespace }) => [namespace, name]),
          [['mcp__files', ordered[0]?.name]],
        );
      }
    }
  });
}

// ---------------------------------------------------------------- stop sequences

const STOPS: Readonly<Record<'messages' | 'chat', (...stops: readonly string[]) => object>> = {
  messages: (...stops) => ({ stop_sequences: stops }),
  chat: (...stops) => ({ stop: stops }),
};

for (const pair of someOf(PAIRS, 3)) {
  const { client } = pair;
  if (client === 'responses') continue;
  const isEmulated = pair.upstream === 'responses';
  /** The gateway knows which sequence matched only where it does the matching itself. */
  const stopped = (sequence: string): unknown =>
    client === 'chat' ? 'stop' : isEmulated ? ['stop_sequence', sequence] : 'end_turn';

  test(`the text ends before a stop sequence, ${pairName(pair)}`, async () => {
    const [unary, streamed] = await unaryAndStreamed(pair, {
      text: 'hi',
      more: STOPS[client]('nothing', ' simulated'),
    });
    for (const seen of [unary, streamed]) {
      assert.equal(seen.text, 'This is a');
      assert.deepEqual(seen.stop, stopped(' simulated'));
    }
    assert.deepEqual(comparable(streamed.whole), comparable(unary.whole));
    assert.ok(streamed.output > 0, 'the usage of the provider is still reported');
  });

  test(`a stop sequence that never occurs changes nothing, ${pairName(pair)}`, async () => {
    const [unary, streamed] = await unaryAndStreamed(pair, { text: 'hi', more: STOPS[client]('You said: "hi"!') });
    for (const seen of [unary, streamed]) {
      assert.match(seen.text, /You said: "hi"\.$/);
      assert.equal(seen.stop, STOP[client].end);
    }
  });

  if (!isEmulated) continue;
  const own = declareGroup(pair, [{ max_concurrency: 1 }], () => scripted.url);
  const streaming: ChatInput = { text: 'hi', stream: true, more: STOPS[client]('END') };
  const fold = (text: string): ReplyView =>
    READ_REPLY[client](client === 'chat' ? foldChat(parseBlocks(text)) : foldMessages(parseBlocks(text)));

  test(`a stop sequence split over several events is found, ${pairName(pair)}`, async () => {
    scripted.respondWith(own, (response) =>
      asStream(response).end(
        streamStart('responses', 'One. E', 'N', 'D now', ' and more') + streamEnd.responses('whatever'),
      ),
    );
    const seen = fold((await send(pair, streaming, key(own))).text);
    assert.equal(seen.text, 'One. ');
    assert.deepEqual(seen.stop, stopped('END'));
    assert.equal(seen.output, 5);
  });

  test(`a partial stop sequence at the end of the text is sent, ${pairName(pair)}`, async () => {
    scripted.respondWith(own, (response) =>
      asStream(response).end(streamStart('responses', 'One. ', 'EN') + streamEnd.responses('One. EN')),
    );
    const seen = fold((await send(pair, streaming, key(own))).text);
    assert.equal(seen.text, 'One. EN');
    assert.equal(seen.stop, STOP[client].end);
  });

  for (const [how, then] of [
    ['stays open', () => {}],
    ['breaks off', (cut: () => void) => cut()],
  ] as const) {
    const alone = declareGroup(pair, [{ max_concurrency: 1 }], () => scripted.url);
    slowTest(`a reply is complete when the provider ${how} after the stop sequence, ${pairName(pair)}`, async () => {
      const closed = Promise.withResolvers<void>();
      scripted.respondWith(alone, (response) => {
        response.on('close', closed.resolve);
        asStream(response).write(streamStart('responses', 'One. END', ' and more'), () =>
          then(() => response.socket?.resetAndDestroy()),
        );
      });
      const token = key(alone);
      const seen = fold((await send(pair, streaming, token)).text);
      assert.equal(seen.text, 'One. ');
      assert.deepEqual(seen.stop, stopped('END'));
      await closed.promise;
      scripted.respondWith(alone, (response) =>
        asStream(response).end(streamStart('responses', 'Two.') + streamEnd.responses('Two.')),
      );
      await until('a free slot', async () => {
        const response = await post(gateway.url, client, token, requestBody(client, streaming));
        const text = await response.text();
        return response.status === 200 && fold(text).text === 'Two.';
      });
    });
  }
}

/** By hand, for a scripted stream that cannot be requested twice. */
function foldMessages(blocks: readonly SseBlock[]): unknown {
  const events = blocks.map((block) => blockData(block) as { type: string } & Record<string, unknown>);
  const start = events.find(({ type }) => type === 'message_start')?.message as Message;
  const end = events.find(({ type }) => type === 'message_delta') as unknown as { delta: object; usage: object };
  assert.equal(events.at(-1)?.type, 'message_stop');
  const text = events
    .filter(({ type }) => type === 'content_block_delta')
    .map(({ delta }) => (delta as { text: string }).text)
    .join('');
  return { ...start, ...end.delta, content: [{ type: 'text', text }], usage: { ...start.usage, ...end.usage } };
}

// ---------------------------------------------------------------- unusual providers

const WHOLE: Readonly<Record<Pair['upstream'], object>> = {
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'x',
    content: [{ type: 'text', text: 'Once upon a time.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 5 },
  },
  responses: {
    id: 'resp_1',
    status: 'completed',
    model: 'x',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Once upon a time.', annotations: [] }],
      },
    ],
    usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
  },
  generate: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Once upon a time.' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 },
  },
};

for (const pair of someOf(PAIRS, 3)) {
  const own = declareGroup(pair, [{ max_concurrency: 1 }], () => scripted.url);

  test(`a unary provider response to a streamed request is sent to the client as a stream, ${pairName(pair)}`, async () => {
    scripted.respondWith(own, (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(WHOLE[pair.upstream])),
    );
    const token = key(own);
    const { headers, text } = await send(pair, { text: 'hi', stream: true }, token);
    assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
    const folded = await FOLD[pair.client](
      requestBody(pair.client, { text: 'hi', stream: true }) as never,
      token,
      parseBlocks(text),
    );
    const seen = READ_REPLY[pair.client](folded);
    assert.equal(seen.text, 'Once upon a time.');
    assert.equal(seen.stop, STOP[pair.client].end);
    assert.deepEqual([seen.input, seen.output], [3, 5]);
  });

  test(`a stream is decoded when its bytes are split anywhere, ${pairName(pair)}`, async () => {
    const expected = 'Größe 👩‍👧 end';
    const wire = Buffer.from(streamStart(pair.upstream, expected) + streamEnd[pair.upstream](expected));
    scripted.respondWith(own, async (response) => {
      asStream(response);
      for (let at = 0; at < wire.length; at += 7)
        await new Promise<void>((done) => response.write(wire.subarray(at, at + 7), () => setImmediate(done)));
      response.end();
    });
    const { text } = await send(pair, { text: 'hi', stream: true }, key(own));
    const received = [...text.matchAll(/"(?:text|content|delta)":"([^"]*)"/g)].map(([, piece]) => piece).join('');
    assert.ok(received.includes(expected), received);
  });

  const alone = declareGroup(pair, [{ max_concurrency: 1 }], () => scripted.url);
  slowTest(
    `the account slot is released soon after the last event when the provider does not close, ${pairName(pair)}`,
    async () => {
      const closed = Promise.withResolvers<void>();
      scripted.respondWith(alone, (response) => {
        response.on('close', closed.resolve);
        asStream(response).write(streamStart(pair.upstream, 'Done.') + streamEnd[pair.upstream]('Done.'));
      });
      const token = key(alone);
      assert.match((await send(pair, { text: 'hi', stream: true }, token)).text, /Done\./);
      await closed.promise;
      scripted.respondWith(alone, (response) =>
        asStream(response).end(streamStart(pair.upstream, 'Next.') + streamEnd[pair.upstream]('Next.')),
      );
      assert.match((await send(pair, { text: 'hi', stream: true }, token)).text, /Next\./);
    },
  );

  // Other dialects have a terminal event; here usage may follow the finish reason.
  if (pair.upstream !== 'generate') continue;
  const late = declareGroup(pair, [{}], () => scripted.url);
  slowTest(`usage after the finish reason is counted, ${pairName(pair)}`, async () => {
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 77, totalTokenCount: 80 };
    scripted.respondWith(late, (response) => {
      asStream(response).write(streamStart('generate', 'Done.') + streamEnd.generate('Done.'), () =>
        setTimeout(() => response.write(`data: ${JSON.stringify({ usageMetadata })}\n\n`), 100),
      );
    });
    const more = pair.client === 'chat' ? { stream_options: { include_usage: true } } : {};
    const { text } = await send(pair, { text: 'hi', stream: true, more }, key(late));
    assert.match(text, /Done\./);
    assert.match(text, /tokens":\s*77\b/);
  });
}

// ---------------------------------------------------------------- heartbeats

for (const pair of someOf(PAIRS, 3)) {
  slowTest(`G 6: a silent stream gets the heartbeats of its dialect, ${pairName(pair)}`, async () => {
    const controller = new AbortController();
    const body = requestBody(pair.client, { model: 'demo-text@silent_mid', text: 'hello there', stream: true });
    const response = await post(impatient.url, pair.client, key(pair.group), body, controller.signal);
    const isPings = pair.client === 'messages';
    const isBeat = ({ event, comment }: SseBlock): boolean => (isPings ? event === 'ping' : comment !== undefined);
    // The messages encoder sends one ping at the beginning of every stream.
    const blocks = await readUntil(response, (received) => received.filter(isBeat).length >= (isPings ? 4 : 3));
    controller.abort();
    for (const block of blocks) {
      if (isBeat(block))
        assert.deepEqual(block, isPings ? { event: 'ping', data: '{"type":"ping"}' } : { comment: 'hb' });
      else assert.ok(block.data !== undefined && block.comment === undefined, 'a heartbeat is a block of its own');
    }
  });

  slowTest(`the official SDK completes a stream with heartbeats, ${pairName(pair)}`, async () => {
    const body = requestBody(pair.client, { model: 'demo-text@silent_mid=400', text: 'hello there' }) as never;
    const token = key(pair.group);
    const { client } = pair;
    if (client === 'messages') {
      const message = await anthropic(impatient.url, token).messages.stream(body).finalMessage();
      assert.equal(message.stop_reason, 'end_turn');
    } else if (client === 'chat') {
      const completion = await openai(impatient.url, token).chat.completions.stream(body).finalChatCompletion();
      assert.match(completion.choices[0]?.message.content ?? '', /hello there/);
    } else {
      const response = await openai(impatient.url, token).responses.stream(body).finalResponse();
      assert.match(response.output_text, /hello there/);
    }
  });
}

slowTest('G 6: a stream without a first event is opened after a while with a heartbeat', async () => {
  const opened = [PAIRS[0], PAIRS[2], PAIRS[5]].map(async (pair) => {
    assert.ok(pair);
    const model = `demo-late-${pair.client}@gap=60000`;
    const controller = new AbortController();
    const body = requestBody(pair.client, { model, text: 'hi', stream: true });
    const response = await post(gateway.url, pair.client, key(pair.group), body, controller.signal);
    assert.equal(response.status, 200);
    const { value } = (await response.body?.getReader().read()) ?? {};
    assert.equal(
      Buffer.from(value ?? '').toString(),
      pair.client === 'messages' ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': hb\n\n',
    );
    controller.abort();
    await sim.journal.waitFor((entry) => entry.aborted && entry.model === model);
  });
  await Promise.all(opened);
});

describe('tests that wait for time to pass', { concurrency: true }, () => {
  for (const declare of slow) declare();
});

// ---------------------------------------------------------------- client disconnects and back-pressure

for (const pair of someOf(PAIRS, 3)) {
  const { client } = pair;
  describe(`client disconnect, ${pairName(pair)}`, () => {
    for (const [when, fault, stream] of [
      ['before a unary response', 'hang', false],
      ['before the response head of a stream', 'hang', true],
      ['before the first event', 'gap=60000', true],
      ['in the middle of a stream', 'silent_mid', true],
      ['in the middle of a unary response', 'silent_mid', false],
    ] as const) {
      const own = declareGroup(pair, [{ max_concurrency: 1 }]);
      test(`G 6: a client disconnect ${when} aborts the upstream call and releases the account slot, ${pairName(pair)}`, async () => {
        sim.journal.clear();
        const token = key(own);
        const model = `demo-text@${fault}`;
        const controller = new AbortController();
        const pending = post(
          gateway.url,
          client,
          token,
          requestBody(client, { model, text: 'hello', stream }),
          controller.signal,
        );
        pending.catch(() => {});
        const entry = await until('the provider request', () =>
          sim.journal.requests.find(
            ({ complete, status, bytesSent }) =>
              complete && (fault === 'hang' || status === 200) && (fault !== 'silent_mid' || bytesSent > 0),
          ),
        );
        if (fault === 'silent_mid' && stream) await firstText(await pending);
        const busy = await post(gateway.url, client, token, requestBody(client, { text: 'hi' }));
        assert.equal(busy.status, client === 'messages' ? 529 : 503, 'the slot is in use');
        await busy.text();
        controller.abort();
        await sim.journal.waitFor(({ id, aborted }) => id === entry.id && aborted);
        await until('a free slot', async () => {
          const response = await post(gateway.url, client, token, requestBody(client, { text: 'hi' }));
          await response.text();
          return response.status === 200;
        });
        await until('the log line', () =>
          gateway.log.find(
            (line) => line.msg === 'request.completed' && line.model === model && line.outcome === 'client_closed',
          ),
        );
      });
    }
  });
}

/** Reads a stream until the received blocks satisfy the condition. */
async function readUntil(
  response: globalThis.Response,
  isEnough: (blocks: readonly SseBlock[]) => boolean,
): Promise<SseBlock[]> {
  const reader = response.body?.getReader() ?? assert.fail();
  for (let received = ''; ; ) {
    const { value, done } = await reader.read();
    assert.ok(!done, received);
    received += Buffer.from(value).toString();
    const blocks = parseBlocks(received.slice(0, received.lastIndexOf('\n\n') + 2));
    if (isEnough(blocks)) return blocks;
  }
}

/** Reads a stream until the first text or thinking. */
const firstText = (response: globalThis.Response): Promise<unknown> =>
  readUntil(response, (blocks) => blocks.some(({ data }) => data?.includes('"Th')));

const BY_CLIENT: readonly Pair[] = [...new Map(PAIRS.map((pair) => [pair.client, pair])).values()];

/** A client that sends a request and does not read. */
function sendAndStall(url: string, pair: Pair, model: string, stream = true): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.pause();
  socket.write(rawPost(pair.client, key(pair.group), requestBody(pair.client, { model, text: 'hi', stream })));
  return socket;
}

/** A client of each dialect stalls. It is disconnected when its time is over, not before. */
async function stall(
  begin: (pair: Pair) => Socket,
  modelOf: (pair: Pair) => string,
  pairs: readonly Pair[] = BY_CLIENT,
): Promise<void> {
  const lineOf = (pair: Pair): LogLine | undefined =>
    impatient.log.find(({ msg, model }) => msg === 'request.completed' && model === modelOf(pair));
  const sockets = pairs.map(begin);
  await Promise.all(sockets.map((socket) => bufferedFor(socket, () => 0)));
  impatientClock.pass(STALLED_MS / 2);
  await Promise.all(sockets.map((socket) => bufferedFor(socket, () => 0)));
  impatientClock.pass(STALLED_MS / 2);
  for (const pair of pairs) {
    const line = await until('the log line', () => lineOf(pair));
    assert.equal(line.outcome, 'client_closed');
  }
  for (const socket of sockets) socket.destroy();
}

longTest('back-pressure: a stalled client is disconnected, and its upstream call aborted', async () => {
  // More than the socket buffers on the way hold.
  const modelOf = (pair: Pair): string => `demo-stall-${pair.client}@events=2000;big=30000`;
  await stall((pair) => sendAndStall(impatient.url, pair, modelOf(pair)), modelOf);
  for (const pair of BY_CLIENT) await sim.journal.waitFor(({ model, aborted }) => model === modelOf(pair) && aborted);
});

/** More than the socket buffers on the way hold. */
const LONG_BYTES = 25_000_000;
/** Nearly what one event may have. */
const PAUSED_BYTES = 30_000_000;
/** A gateway that does not pause the provider keeps most of it. */
const MAX_BUFFERED = 2 ** 20;

/** A converted reply has less text than the socket buffers hold, so that only a native one is as long. */
const NATIVE: readonly Pair[] = [
  { client: 'responses', group: 'openai', upstream: 'responses' },
  { client: 'messages', group: 'claude', upstream: 'messages' },
];

longTest('back-pressure: a client that never reads a unary response is disconnected', async () => {
  const modelOf = (pair: Pair): string => `demo-whole-${pair.client}@big=${LONG_BYTES}`;
  await stall((pair) => sendAndStall(impatient.url, pair, modelOf(pair), false), modelOf, NATIVE);
});

longTest('back-pressure: a client that reads a unary response slowly gets all of it', async () => {
  const [pair] = NATIVE;
  assert.ok(pair);
  const socket = sendAndStall(impatient.url, pair, `demo-slow@big=${LONG_BYTES}`, false);
  let letters = 0;
  let passedMs = 0;
  while (letters < LONG_BYTES) {
    const chunk: Buffer | null = socket.read(256 * 1024) ?? socket.read();
    if (chunk) {
      for (const byte of chunk) letters += byte === X ? 1 : 0;
      const ms = (1.2 * STALLED_MS * chunk.length) / LONG_BYTES;
      impatientClock.pass(ms);
      passedMs += ms;
    }
    assert.ok(!socket.destroyed || letters >= LONG_BYTES, `${letters} letters, then cut`);
    await pause(5);
  }
  assert.ok(passedMs > STALLED_MS, 'longer than the stall timeout');
  socket.destroy();
});

for (const pair of someOf(BY_CLIENT, 1)) {
  test(`back-pressure: a paused client pauses the provider and loses nothing, ${pairName(pair)}`, async () => {
    const model = `demo-pause-${pair.client}@big=${PAUSED_BYTES}`;
    const socket = sendAndStall(gateway.url, pair, model);
    const entry = await sim.journal.waitFor((one) => one.model === model);
    const buffered = await bufferedFor(socket, () => entry.bytesSent);
    assert.ok(buffered < MAX_BUFFERED, `${buffered} bytes`);
    let letters = 0;
    socket.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === X) letters += 1;
      if (chunk.toString('latin1', Math.max(0, chunk.length - 5)) === '0\r\n\r\n') socket.end();
    });
    socket.resume();
    await once(socket, 'close');
    assert.ok(entry.finished);
    // The terminal event of a responses stream repeats the text, and so do the events that close its parts.
    const repeats = pair.client === 'responses' ? Math.round(letters / PAUSED_BYTES) : 1;
    assert.ok(letters >= repeats * PAUSED_BYTES && letters < repeats * PAUSED_BYTES + 1_000_000, `${letters} letters`);
  });
}

const X = 'x'.charCodeAt(0);
