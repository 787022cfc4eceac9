/** Converted calls that succeed: the same answer streamed or not, in the client's own slots, at the client's own pace. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type JournalEntry, type Sim, startSim } from '../../sim/index.ts';
import {
  type Ask,
  type Block,
  blocksOf,
  bodyOf,
  dataOf,
  nameOf,
  PAIRS,
  type Pair,
  post,
  type Room,
  type RoomAccount,
  rawPost,
  roomsSetup,
  type Spoken,
} from '../support/conversion-harness.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { asStream, beginning, ending, type Scripted, startScripted } from '../support/scripted.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let scripted: Scripted;
let gateway: TestGateway;
/** Beats after a tenth of a second and cuts a stalled reader after one. */
let hasty: TestGateway;
const keys: Record<string, string> = {};

type Declared = Omit<Room, 'url'> & { readonly at?: () => string };
const rooms: Declared[] = PAIRS.map(({ group: id, upstream }) => ({ id, upstream, accounts: [{}] }));

before(async () => {
  sim = await startSim();
  scripted = await startScripted();
  gateway = await startGateway();
  const distinct = [...new Map(rooms.map(({ at, ...room }) => [room.id, at ? { ...room, url: at() } : room])).values()];
  Object.assign(keys, await gateway.apply(roomsSetup(distinct, sim.url)));
  hasty = await startGateway({
    database: gateway.database,
    env: { HEARTBEAT_MS: '100', STALLED_CLIENT_MS: '1000' },
  });
});
after(async () => {
  await hasty.stop();
  await gateway.stop();
  await scripted.close();
  await sim.close();
});

const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

/** Declares a group of its own; its id. */
function room({ upstream }: Pair, accounts: readonly RoomAccount[], at?: () => string): string {
  const id = `room-${rooms.length}`;
  rooms.push({ id, upstream, accounts, ...(at && { at }) });
  return id;
}

const slow: (() => void)[] = [];
const slowTest = (name: string, body: () => Promise<void>): void => void slow.push(() => void test(name, body));

interface Answered {
  readonly headers: Headers;
  readonly text: string;
}

async function ask(pair: Pair, asked: Ask, token = key(pair.group), url = gateway.url): Promise<Answered> {
  const response = await post(url, pair.client, token, bodyOf(pair.client, asked));
  const text = await response.text();
  assert.equal(response.status, 200, text.slice(0, 500));
  return { headers: response.headers, text };
}

// ---------------------------------------------------------------- what a caller sees, whatever the dialect

interface Seen {
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown; readonly namespace?: string }[];
  readonly stop: unknown;
  readonly refusal: string;
  readonly model: string;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** The whole answer, for comparing. */
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

const SEE: Readonly<Record<Spoken, (whole: unknown) => Seen>> = {
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

/** The answer that a stream tells, put together by the SDK where it keeps everything, by hand where it does not. */
const FOLD: Readonly<Record<Spoken, (body: never, token: string, blocks: readonly Block[]) => Promise<unknown>>> = {
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

function foldChat(blocks: readonly Block[]): unknown {
  const told = blocks.filter(({ data }) => data !== undefined);
  assert.equal(told.pop()?.data, '[DONE]');
  const message: ChatMessage = { role: '', content: null, refusal: null };
  let usage: unknown;
  let tier: unknown;
  let finish: string | null | undefined;
  for (const chunk of told.map((block) => dataOf(block) as unknown as Chunk)) {
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
  const [first] = told.map((block) => dataOf(block) as unknown as Chunk);
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

/** Differ from call to call, or say what the SDK adds by itself. */
const VARYING = new Set([
  ...['id', 'call_id', 'created', 'created_at', 'completed_at'],
  ...['signature', 'encrypted_content', 'thought_signature'],
]);
const ADDED = new Set(['_request_id', 'parsed_output', 'output_parsed', 'parsed', 'parsed_arguments', 'output_text']);

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => !ADDED.has(name) && member !== undefined)
      .map(([name, member]) => [name, VARYING.has(name) && member !== null ? typeof member : comparable(member)])
      // Of a text that does not exist a stream can only say that it is empty.
      .map(([name, member]) => [name, name === 'content' && member === '' ? null : member]),
  );
}

/** The same question three times: once for the provider's cache, once whole, once streamed. */
async function bothWays(pair: Pair, asked: Ask, token = key(pair.group)): Promise<readonly [Seen, Seen]> {
  await ask(pair, asked, token);
  const unary = await ask(pair, asked, token);
  const body = bodyOf(pair.client, { ...asked, stream: true });
  const streamed = await ask(pair, { ...asked, stream: true }, token);
  const folded = await FOLD[pair.client](body as never, token, blocksOf(streamed.text));
  const see = SEE[pair.client];
  return [see(JSON.parse(unary.text)), see(folded)];
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

const STOP: Readonly<Record<Spoken, Readonly<Record<'end' | 'tool' | 'length' | 'refusal', string>>>> = {
  messages: { end: 'end_turn', tool: 'tool_use', length: 'max_tokens', refusal: 'refusal' },
  chat: { end: 'stop', tool: 'tool_calls', length: 'length', refusal: 'content_filter' },
  responses: { end: 'completed', tool: 'completed', length: 'max_output_tokens', refusal: 'completed' },
};

interface Question {
  readonly about: string;
  readonly ask: Ask;
  readonly stop: keyof (typeof STOP)['chat'];
  check?(seen: Seen, pair: Pair): void;
}

const QUESTIONS: readonly Question[] = [
  {
    about: 'plain text',
    ask: { text: 'hello there', system: 'Be brief.' },
    stop: 'end',
    check: ({ text }) => assert.equal(text, 'This is a simulated answer from demo-text. You said: "hello there".'),
  },
  {
    about: 'text of many scripts, with line and paragraph separators',
    ask: { text: 'Grüße 👩‍👩‍👧‍👦 日本語 \u2028\u2029 \\n "quoted" \u0000 end' },
    stop: 'end',
    check: ({ text }) => assert.ok(text.includes('Grüße 👩‍👩‍👧‍👦 日本語 \u2028\u2029 \\n "quoted" \u0000 end')),
  },
  {
    about: 'a tool call',
    ask: { text: 'Use get_weather for "Paris".', tools: TOOLS },
    stop: 'tool',
    check: ({ calls }) => assert.deepEqual(calls, [{ name: 'get_weather', args: { city: 'Paris' } }]),
  },
  {
    about: 'parallel tool calls, separate and in order',
    ask: { text: 'use get_time and get_weather for "Zürich"', tools: TOOLS },
    stop: 'tool',
    check: ({ calls }) =>
      assert.deepEqual(calls, [
        { name: 'get_time', args: { city: 'Zürich' } },
        { name: 'get_weather', args: { city: 'Zürich' } },
      ]),
  },
  {
    about: 'a text before a tool call',
    ask: { text: 'explain and use get_weather for "Paris"', tools: TOOLS },
    stop: 'tool',
    check: ({ text, calls }) => {
      assert.equal(text, 'I will use get_weather.');
      assert.equal(calls.length, 1);
    },
  },
  {
    about: 'thinking, in the slot of the client',
    ask: { text: 'think about it', thinks: true },
    stop: 'end',
    check: ({ text, thoughts }) => {
      assert.equal(thoughts, 'The user wrote "think about it". A short simulated answer will do.');
      assert.doesNotMatch(text, /The user wrote/);
    },
  },
  {
    about: 'thinking before a tool call',
    ask: { text: 'Use get_weather for "Oslo".', tools: TOOLS, thinks: true },
    stop: 'tool',
    check: ({ thoughts, calls }) => {
      assert.match(thoughts, /The user wrote/);
      assert.deepEqual(calls, [{ name: 'get_weather', args: { city: 'Oslo' } }]);
    },
  },
  {
    about: 'a refusal',
    ask: { text: 'please refuse' },
    stop: 'refusal',
    check: ({ text, refusal, calls }, pair) => {
      // A messages client reads what was said before the refusal, and the responses side says it word by word.
      assert.equal(text, pair.client === 'messages' && pair.upstream === 'responses' ? refusal : '');
      assert.deepEqual(calls, []);
      // The generate side says only that it declines, not why.
      if (pair.upstream !== 'generate') assert.match(refusal, /declined/);
    },
  },
  { about: 'a prompt that the provider blocks', ask: { text: 'please block' }, stop: 'refusal' },
  {
    about: 'an answer cut by its limit',
    ask: { text: 'a long story, please, with many words in it so that it must be cut', maxTokens: 16 },
    stop: 'length',
    check: ({ text }) => assert.ok(text.length <= 64),
  },
  {
    about: 'structured output',
    ask: { text: 'Describe "Ada".', schema: PERSON },
    stop: 'end',
    check: ({ text }) => {
      const { name, age, ...rest } = JSON.parse(text);
      assert.equal(name, 'Ada');
      assert.ok(Number.isInteger(age));
      assert.deepEqual(rest, {});
    },
  },
];

for (const pair of PAIRS) {
  describe(`the same answer streamed or not, ${nameOf(pair)}`, () => {
    for (const { about, ask: asked, stop, check } of QUESTIONS) {
      test(about, async () => {
        const [unary, streamed] = await bothWays(pair, asked);
        for (const seen of [unary, streamed]) {
          assert.equal(seen.stop, STOP[pair.client][stop]);
          check?.(seen, pair);
        }
        assert.deepEqual(comparable(streamed.whole), comparable(unary.whole));
      });
    }
  });
}

// ---------------------------------------------------------------- usage

const lineOf = ({ headers }: Answered) =>
  until('the log line', () =>
    gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === headers.get('x-request-id')),
  );

for (const pair of PAIRS) {
  test(`cached input is counted as the dialect counts it, ${nameOf(pair)}`, async () => {
    const system = `About ${nameOf(pair)}: ${'s'.repeat(400)}`;
    const asked: Ask = {
      text: 'Use get_weather for "Rome".',
      system,
      tools: TOOLS,
      more: { ...(pair.client === 'messages' && { max_tokens: 500 }) },
    };
    const [unary, streamed] = await bothWays(pair, asked);
    const tokens = (text: string): number => Math.ceil(text.length / 4);
    for (const seen of [unary, streamed]) {
      assert.ok(seen.cached >= tokens(system), `cached ${seen.cached}`);
      assert.ok(seen.input > seen.cached, 'what is cached is a part of what is read');
      assert.ok(seen.output > 0);
    }
    assert.deepEqual([streamed.input, streamed.cached, streamed.output], [unary.input, unary.cached, unary.output]);
    const line = await lineOf(await ask(pair, asked));
    assert.deepEqual([line.tokensIn, line.tokensCached, line.tokensOut], [unary.input, unary.cached, unary.output]);
    if (pair.client === 'chat')
      assert.equal((unary.whole as Completion).usage.total_tokens, unary.input + unary.output);
    if (pair.client === 'responses')
      assert.equal((unary.whole as Response).usage.total_tokens, unary.input + unary.output);
  });
}

// ---------------------------------------------------------------- headers

const ODD = { 'odd field,é': 1 };
const ODD_NAME = 'odd%20field%2C%C3%A9';

/** Fields that the pair loses, and the names they are lost under. */
const LOSSES: Readonly<Record<string, { readonly more: object; readonly names: readonly string[] }>> = {
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

for (const pair of PAIRS) {
  const named = room(pair, [{ text: 'demo-text@gap=0' }]);
  for (const stream of [false, true]) {
    test(`the head of a ${stream ? 'streamed' : 'whole'} answer says what was done, ${nameOf(pair)}`, async () => {
      const converted = `${pair.client}->${pair.upstream}`;
      const { more, names } = LOSSES[converted] ?? assert.fail();
      const { headers, text } = await ask(
        pair,
        { model: 'alias-one', text: 'hi', stream, more: { ...more, ...ODD } },
        key(named),
      );
      assert.equal(headers.get('x-gateway-converted'), converted);
      assert.equal(headers.get('x-gateway-upstream-model'), 'demo-text%40gap%3D0');
      assert.deepEqual(headers.get('x-gateway-dropped')?.split(',').sort(), [...names, ODD_NAME].sort());
      assert.match(headers.get('x-request-id') ?? '', /^req_/);
      assert.equal(headers.get('request-id'), pair.client === 'messages' ? headers.get('x-request-id') : null);
      for (const name of ['anthropic-organization-id', 'openai-organization', 'x-ratelimit-limit-requests', 'server'])
        assert.equal(headers.get(name), null, name);
      const models = [...text.matchAll(/"model":"([^"]*)"/g)].map(([, name]) => name);
      assert.ok(models.length > 0);
      assert.deepEqual([...new Set(models)], ['alias-one'], 'the name that the client asked for');
      if (!stream) return assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
      assert.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8');
      assert.equal(headers.get('cache-control'), 'no-cache, no-transform');
      assert.equal(headers.get('x-accel-buffering'), 'no');
      assert.equal(headers.get('content-encoding'), null);
    });
  }

  test(`nothing is said of losses when there are none, ${nameOf(pair)}`, async () => {
    const { headers } = await ask(pair, { text: 'hi' });
    assert.equal(headers.get('x-gateway-dropped'), null);
  });
}

// ---------------------------------------------------------------- in the upstream's own form

/** One pixel. */
const IMAGE = {
  mime: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};

const IMAGE_FORM: Readonly<Record<Pair['upstream'], object>> = {
  messages: { type: 'image', source: { type: 'base64', media_type: IMAGE.mime, data: IMAGE.data } },
  responses: { type: 'input_image', image_url: `data:${IMAGE.mime};base64,${IMAGE.data}` },
  generate: { inlineData: { mimeType: IMAGE.mime, data: IMAGE.data } },
};

/** Is this object somewhere in there, perhaps with more members? */
function holds(value: unknown, wanted: object): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fits = Object.entries(wanted).every(([name, member]) =>
    typeof member === 'object'
      ? JSON.stringify(Reflect.get(value, name)) === JSON.stringify(member)
      : Reflect.get(value, name) === member,
  );
  return fits || Object.values(value).some((member) => holds(member, wanted));
}

for (const pair of PAIRS) {
  test(`an image reaches the provider in its own form, ${nameOf(pair)}`, async () => {
    sim.journal.clear();
    await ask(pair, { text: 'what is this?', image: IMAGE });
    const sent = JSON.parse(sim.journal.requests[0]?.body?.toString('utf8') ?? '');
    assert.ok(holds(sent, IMAGE_FORM[pair.upstream]), JSON.stringify(sent));
  });
}

// ---------------------------------------------------------------- names of tools

const FORCED: Readonly<Record<Spoken, (name: string) => object>> = {
  messages: (name) => ({ tool_choice: { type: 'tool', name } }),
  chat: (name) => ({ tool_choice: { type: 'function', function: { name } } }),
  responses: (name) => ({ tool_choice: { type: 'function', name } }),
};

for (const pair of PAIRS) {
  test(`names that the provider would refuse come back as they were, ${nameOf(pair)}`, async () => {
    const names = ['files.read', 'files_read', `long.${'x'.repeat(70)}`];
    const tools = names.map((name) => ({ name, description: 'Reads', schema: CITY }));
    for (const name of names) {
      sim.journal.clear();
      const [unary, streamed] = await bothWays(pair, { text: 'go', tools, more: FORCED[pair.client](name) });
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
  test(`a namespace comes back with the name, ${nameOf(pair)}`, async () => {
    const inner = ['read.file', 'read_file'].map((name) => ({
      type: 'function',
      name,
      description: 'Reads',
      parameters: CITY,
      strict: false,
    }));
    for (const ordered of [inner, inner.toReversed()]) {
      const tools = [{ type: 'namespace', name: 'mcp__files', description: 'Files', tools: ordered }];
      const [unary, streamed] = await bothWays(pair, { text: 'go', more: { tools, tool_choice: 'required' } });
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

for (const pair of PAIRS) {
  const { client } = pair;
  if (client === 'responses') continue;
  const isEmulated = pair.upstream === 'responses';
  /** Only where the match is our own do we know which sequence it was. */
  const stopped = (sequence: string): unknown =>
    client === 'chat' ? 'stop' : isEmulated ? ['stop_sequence', sequence] : 'end_turn';

  test(`the text ends before a stop sequence, ${nameOf(pair)}`, async () => {
    const [unary, streamed] = await bothWays(pair, { text: 'hi', more: STOPS[client]('nothing', ' simulated') });
    for (const seen of [unary, streamed]) {
      assert.equal(seen.text, 'This is a');
      assert.deepEqual(seen.stop, stopped(' simulated'));
    }
    assert.deepEqual(comparable(streamed.whole), comparable(unary.whole));
    assert.ok(streamed.output > 0, 'the usage of the provider is still told');
  });

  test(`a sequence that never comes changes nothing, ${nameOf(pair)}`, async () => {
    const [unary, streamed] = await bothWays(pair, { text: 'hi', more: STOPS[client]('You said: "hi"!') });
    for (const seen of [unary, streamed]) {
      assert.match(seen.text, /You said: "hi"\.$/);
      assert.equal(seen.stop, STOP[client].end);
    }
  });

  if (!isEmulated) continue;
  const own = room(pair, [{ max_concurrency: 1 }], () => scripted.url);
  const streaming: Ask = { text: 'hi', stream: true, more: STOPS[client]('END') };
  const fold = (text: string): Seen =>
    SEE[client](client === 'chat' ? foldChat(blocksOf(text)) : foldMessages(blocksOf(text)));

  test(`a stop sequence that is split over events is met, ${nameOf(pair)}`, async () => {
    scripted.answer(own, (response) =>
      asStream(response).end(
        beginning('responses', 'One. E', 'N', 'D now', ' and more') + ending.responses('whatever'),
      ),
    );
    const seen = fold((await ask(pair, streaming, key(own))).text);
    assert.equal(seen.text, 'One. ');
    assert.deepEqual(seen.stop, stopped('END'));
    assert.equal(seen.output, 5);
  });

  test(`the beginning of a sequence at the end of the text is told, ${nameOf(pair)}`, async () => {
    scripted.answer(own, (response) =>
      asStream(response).end(beginning('responses', 'One. ', 'EN') + ending.responses('One. EN')),
    );
    const seen = fold((await ask(pair, streaming, key(own))).text);
    assert.equal(seen.text, 'One. EN');
    assert.equal(seen.stop, STOP[client].end);
  });

  for (const [how, then] of [
    ['falls silent', () => {}],
    ['breaks off', (cut: () => void) => cut()],
  ] as const) {
    const alone = room(pair, [{ max_concurrency: 1 }], () => scripted.url);
    slowTest(`a provider that ${how} after the stop sequence does not spoil the answer, ${nameOf(pair)}`, async () => {
      const gone = Promise.withResolvers<void>();
      scripted.answer(alone, (response) => {
        response.on('close', gone.resolve);
        asStream(response).write(beginning('responses', 'One. END', ' and more'), () =>
          then(() => response.socket?.resetAndDestroy()),
        );
      });
      const token = key(alone);
      const seen = fold((await ask(pair, streaming, token)).text);
      assert.equal(seen.text, 'One. ');
      assert.deepEqual(seen.stop, stopped('END'));
      await gone.promise;
      scripted.answer(alone, (response) =>
        asStream(response).end(beginning('responses', 'Two.') + ending.responses('Two.')),
      );
      await until('the place is free', async () => {
        const response = await post(gateway.url, client, token, bodyOf(client, streaming));
        const text = await response.text();
        return response.status === 200 && fold(text).text === 'Two.';
      });
    });
  }
}

/** By hand, for a stream that cannot be asked for twice. */
function foldMessages(blocks: readonly Block[]): unknown {
  const events = blocks.map((block) => dataOf(block) as { type: string } & Record<string, unknown>);
  const start = events.find(({ type }) => type === 'message_start')?.message as Message;
  const end = events.find(({ type }) => type === 'message_delta') as unknown as { delta: object; usage: object };
  assert.equal(events.at(-1)?.type, 'message_stop');
  const text = events
    .filter(({ type }) => type === 'content_block_delta')
    .map(({ delta }) => (delta as { text: string }).text)
    .join('');
  return { ...start, ...end.delta, content: [{ type: 'text', text }], usage: { ...start.usage, ...end.usage } };
}

// ---------------------------------------------------------------- odd providers

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

for (const pair of PAIRS) {
  const own = room(pair, [{ max_concurrency: 1 }], () => scripted.url);

  test(`a whole answer to a request for a stream is told as a stream, ${nameOf(pair)}`, async () => {
    scripted.answer(own, (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(WHOLE[pair.upstream])),
    );
    const token = key(own);
    const { headers, text } = await ask(pair, { text: 'hi', stream: true }, token);
    assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
    const folded = await FOLD[pair.client](
      bodyOf(pair.client, { text: 'hi', stream: true }) as never,
      token,
      blocksOf(text),
    );
    const seen = SEE[pair.client](folded);
    assert.equal(seen.text, 'Once upon a time.');
    assert.equal(seen.stop, STOP[pair.client].end);
    assert.deepEqual([seen.input, seen.output], [3, 5]);
  });

  test(`bytes may be cut anywhere, ${nameOf(pair)}`, async () => {
    const words = 'Größe 👩‍👧 end';
    const wire = Buffer.from(beginning(pair.upstream, words) + ending[pair.upstream](words));
    scripted.answer(own, async (response) => {
      asStream(response);
      for (let at = 0; at < wire.length; at += 7)
        await new Promise<void>((done) => response.write(wire.subarray(at, at + 7), () => setImmediate(done)));
      response.end();
    });
    const { text } = await ask(pair, { text: 'hi', stream: true }, key(own));
    const told = [...text.matchAll(/"(?:text|content|delta)":"([^"]*)"/g)].map(([, piece]) => piece).join('');
    assert.ok(told.includes(words), told);
  });

  const alone = room(pair, [{ max_concurrency: 1 }], () => scripted.url);
  slowTest(
    `a provider that does not close after its end holds its place only for moments, ${nameOf(pair)}`,
    async () => {
      const gone = Promise.withResolvers<void>();
      scripted.answer(alone, (response) => {
        response.on('close', gone.resolve);
        asStream(response).write(beginning(pair.upstream, 'Done.') + ending[pair.upstream]('Done.'));
      });
      const token = key(alone);
      assert.match((await ask(pair, { text: 'hi', stream: true }, token)).text, /Done\./);
      await gone.promise;
      scripted.answer(alone, (response) =>
        asStream(response).end(beginning(pair.upstream, 'Next.') + ending[pair.upstream]('Next.')),
      );
      assert.match((await ask(pair, { text: 'hi', stream: true }, token)).text, /Next\./);
    },
  );

  // Elsewhere an event says that all has been said; here usage may still follow the finish reason.
  if (pair.upstream !== 'generate') continue;
  const late = room(pair, [{}], () => scripted.url);
  slowTest(`usage that comes after the finish reason still counts, ${nameOf(pair)}`, async () => {
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 77, totalTokenCount: 80 };
    scripted.answer(late, (response) => {
      asStream(response).write(beginning('generate', 'Done.') + ending.generate('Done.'), () =>
        setTimeout(() => response.write(`data: ${JSON.stringify({ usageMetadata })}\n\n`), 100),
      );
    });
    const more = pair.client === 'chat' ? { stream_options: { include_usage: true } } : {};
    const { text } = await ask(pair, { text: 'hi', stream: true, more }, key(late));
    assert.match(text, /Done\./);
    assert.match(text, /tokens":\s*77\b/);
  });
}

// ---------------------------------------------------------------- silence

for (const pair of PAIRS) {
  slowTest(`[S68 N5] a silent stream is kept alive in the way of its dialect, ${nameOf(pair)}`, async () => {
    const leave = new AbortController();
    const body = bodyOf(pair.client, { model: 'demo-text@silent_mid', text: 'hello there', stream: true });
    const response = await post(hasty.url, pair.client, key(pair.group), body, leave.signal);
    const isPings = pair.client === 'messages';
    const isBeat = ({ event, comment }: Block): boolean => (isPings ? event === 'ping' : comment !== undefined);
    // A messages stream has one ping of its own.
    const blocks = await readUntil(response, (told) => told.filter(isBeat).length >= (isPings ? 4 : 3));
    leave.abort();
    for (const block of blocks) {
      if (isBeat(block))
        assert.deepEqual(block, isPings ? { event: 'ping', data: '{"type":"ping"}' } : { comment: 'hb' });
      else assert.ok(block.data !== undefined && block.comment === undefined, 'no beat is glued to an event');
    }
  });

  slowTest(`[S68] the SDK finishes a stream with silences in it, ${nameOf(pair)}`, async () => {
    const body = bodyOf(pair.client, { model: 'demo-text@silent_mid=400', text: 'hello there' }) as never;
    const token = key(pair.group);
    const { client } = pair;
    if (client === 'messages') {
      const message = await anthropic(hasty.url, token).messages.stream(body).finalMessage();
      assert.equal(message.stop_reason, 'end_turn');
    } else if (client === 'chat') {
      const completion = await openai(hasty.url, token).chat.completions.stream(body).finalChatCompletion();
      assert.match(completion.choices[0]?.message.content ?? '', /hello there/);
    } else {
      const response = await openai(hasty.url, token).responses.stream(body).finalResponse();
      assert.match(response.output_text, /hello there/);
    }
  });
}

slowTest('a stream without a first event is opened after a while, and told that something is coming', async () => {
  const opened = [PAIRS[0], PAIRS[2], PAIRS[5]].map(async (pair) => {
    assert.ok(pair);
    const model = `demo-late-${pair.client}@gap=60000`;
    const leave = new AbortController();
    const body = bodyOf(pair.client, { model, text: 'hi', stream: true });
    const response = await post(gateway.url, pair.client, key(pair.group), body, leave.signal);
    assert.equal(response.status, 200);
    const { value } = (await response.body?.getReader().read()) ?? {};
    assert.equal(
      Buffer.from(value ?? '').toString(),
      pair.client === 'messages' ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': hb\n\n',
    );
    leave.abort();
    await sim.journal.waitFor((entry) => entry.aborted && entry.model === model);
  });
  await Promise.all(opened);
});

describe('side by side, since each waits for the time to pass', { concurrency: true }, () => {
  for (const declare of slow) declare();
});

// ---------------------------------------------------------------- clients that leave or stall

for (const pair of PAIRS) {
  const { client } = pair;
  describe(`a client that leaves, ${nameOf(pair)}`, () => {
    for (const [when, fault, stream] of [
      ['before an answer', 'hang', false],
      ['before the head of a stream', 'hang', true],
      ['before the first event', 'gap=60000', true],
      ['in the middle of a stream', 'silent_mid', true],
      ['in the middle of a whole answer', 'silent_mid', false],
    ] as const) {
      const own = room(pair, [{ max_concurrency: 1 }]);
      test(`[S67] ${when} takes its upstream with it and frees its place`, async () => {
        sim.journal.clear();
        const token = key(own);
        const model = `demo-text@${fault}`;
        const leave = new AbortController();
        const pending = post(
          gateway.url,
          client,
          token,
          bodyOf(client, { model, text: 'hello', stream }),
          leave.signal,
        );
        pending.catch(() => {});
        const entry = await until('the provider to be there', () =>
          sim.journal.requests.find(
            ({ complete, status, bytesSent }) =>
              complete && (fault === 'hang' || status === 200) && (fault !== 'silent_mid' || bytesSent > 0),
          ),
        );
        if (fault === 'silent_mid' && stream) await firstWord(await pending);
        const busy = await post(gateway.url, client, token, bodyOf(client, { text: 'hi' }));
        assert.equal(busy.status, client === 'messages' ? 529 : 503, 'the place is taken');
        await busy.text();
        leave.abort();
        await sim.journal.waitFor(({ id, aborted }) => id === entry.id && aborted, 1_000);
        await until('the place is free', async () => {
          const response = await post(gateway.url, client, token, bodyOf(client, { text: 'hi' }));
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

/** Reads until the blocks that came say enough. */
async function readUntil(
  response: globalThis.Response,
  isEnough: (blocks: readonly Block[]) => boolean,
): Promise<Block[]> {
  const reader = response.body?.getReader() ?? assert.fail();
  for (let told = ''; ; ) {
    const { value, done } = await reader.read();
    assert.ok(!done, told);
    told += Buffer.from(value).toString();
    const blocks = blocksOf(told.slice(0, told.lastIndexOf('\n\n') + 2));
    if (isEnough(blocks)) return blocks;
  }
}

/** Reads until the answer has begun to say or to think something. */
const firstWord = (response: globalThis.Response): Promise<unknown> =>
  readUntil(response, (blocks) => blocks.some(({ data }) => data?.includes('"Th')));

const BY_CLIENT: readonly Pair[] = [...new Map(PAIRS.map((pair) => [pair.client, pair])).values()];

/** A client that asks and does not read. */
function askAndStall(url: string, pair: Pair, model: string, stream = true): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.pause();
  socket.write(rawPost(pair.client, key(pair.group), bodyOf(pair.client, { model, text: 'hi', stream })));
  return socket;
}

const PATIENCE_MS = 30_000;

test('a client that stops reading is cut in the end, and its provider with it', async () => {
  await Promise.all(
    BY_CLIENT.map(async (pair) => {
      const model = `demo-stall-${pair.client}@events=200000`;
      const socket = askAndStall(hasty.url, pair, model);
      const entry = await sim.journal.waitFor((one) => one.model === model && one.aborted, PATIENCE_MS);
      assert.ok(entry.eventsSent < 200_000);
      await until('the log line', () =>
        hasty.log.find(
          (line) => line.msg === 'request.completed' && line.model === model && line.outcome === 'client_closed',
        ),
      );
      socket.destroy();
    }),
  );
});

/** More than the sockets on the way hold. */
const LONG_BYTES = 25_000_000;

test('a client that never reads its whole answer is cut in the end', async () => {
  await Promise.all(
    BY_CLIENT.map(async (pair) => {
      const model = `demo-whole-${pair.client}@big=${LONG_BYTES}`;
      const socket = askAndStall(hasty.url, pair, model, false);
      await until(
        'the log line',
        () =>
          hasty.log.find(
            (line) => line.msg === 'request.completed' && line.model === model && line.outcome === 'client_closed',
          ),
        PATIENCE_MS,
      );
      socket.destroy();
    }),
  );
});

test('a client that reads its whole answer slowly gets all of it', async () => {
  const [pair] = BY_CLIENT;
  assert.ok(pair);
  const socket = askAndStall(hasty.url, pair, `demo-slow@big=${LONG_BYTES}`, false);
  let letters = 0;
  const began = performance.now();
  while (letters < LONG_BYTES) {
    const chunk: Buffer | null = socket.read(256 * 1024) ?? socket.read();
    if (chunk) for (const byte of chunk) letters += byte === X ? 1 : 0;
    assert.ok(!socket.destroyed || letters >= LONG_BYTES, `${letters} letters, then cut`);
    await new Promise((resolve) => setTimeout(resolve, chunk ? 25 : 5));
  }
  assert.ok(performance.now() - began > 1_500, 'longer than a stalled client has');
  socket.destroy();
});

for (const pair of BY_CLIENT) {
  test(`a client that pauses makes its provider wait, and misses nothing, ${nameOf(pair)}`, async () => {
    const model = `demo-pause-${pair.client}@big=${LONG_BYTES}`;
    const socket = askAndStall(gateway.url, pair, model);
    const entry = await sim.journal.waitFor((one) => one.model === model);
    await settled(entry);
    assert.ok(entry.bytesSent < LONG_BYTES, `${entry.bytesSent} bytes were taken`);
    let letters = 0;
    socket.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === X) letters += 1;
      if (chunk.toString('latin1', Math.max(0, chunk.length - 5)) === '0\r\n\r\n') socket.end();
    });
    socket.resume();
    await once(socket, 'close');
    assert.ok(entry.finished);
    // The final event of a responses stream repeats the text, and so do those that close its parts.
    const told = pair.client === 'responses' ? Math.round(letters / LONG_BYTES) : 1;
    assert.ok(letters >= told * LONG_BYTES && letters < told * LONG_BYTES + 1_000_000, `${letters} letters`);
  });
}

const X = 'x'.charCodeAt(0);

/** Nothing was taken from the provider for a while. */
function settled(entry: JournalEntry): Promise<unknown> {
  let before = 0;
  let same = 0;
  const look = (): boolean => {
    same = entry.bytesSent > 0 && entry.bytesSent === before ? same + 1 : 0;
    before = entry.bytesSent;
    return same > 25;
  };
  return until('the provider to wait', look, PATIENCE_MS);
}
