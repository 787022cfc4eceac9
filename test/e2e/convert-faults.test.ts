/** Converted calls that fail: what the caller reads, which account is tried next, and what never leaves the gateway. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type JournalEntry, type Sim, startSim } from '../../sim/index.ts';
import {
  type Ask,
  blocksOf,
  bodyOf,
  ENVELOPE,
  failureIn,
  nameOf,
  PAIRS,
  type Pair,
  post,
  type Room,
  type RoomAccount,
  roomsSetup,
} from '../support/conversion-harness.ts';
import { codeIn } from '../support/envelope.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { asStream, beginning, blaming, limiting, naming, type Scripted, startScripted } from '../support/scripted.ts';
import { anthropic, openai, openai6 } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let scripted: Scripted;
let gateway: TestGateway;
const keys: Record<string, string> = {};

type Declared = Omit<Room, 'url'> & { readonly at?: () => string };
const rooms: Declared[] = PAIRS.map(({ group: id, upstream }) => ({ id, upstream, accounts: [{}] }));

before(async () => {
  sim = await startSim();
  scripted = await startScripted();
  gateway = await startGateway();
  const distinct = [...new Map(rooms.map(({ at, ...room }) => [room.id, at ? { ...room, url: at() } : room])).values()];
  Object.assign(keys, await gateway.apply(roomsSetup(distinct, sim.url)));
});
after(async () => {
  await gateway.stop();
  await scripted.close();
  await sim.close();
});

const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

const roomOf = (token: string): string =>
  Object.entries(keys).find(([, value]) => value === token)?.[0] ?? assert.fail('no room');

/** Declares a group of its own with these accounts; what it gives answers the key, and forgets what was asked before. */
function room({ upstream }: Pair, accounts: readonly RoomAccount[], at?: () => string): () => string {
  const id = `room-${rooms.length}`;
  rooms.push({ id, upstream, accounts, ...(at && { at }) });
  return () => {
    sim.journal.clear();
    return key(id);
  };
}

interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly code: string;
  readonly message: string;
  readonly param: unknown;
}

async function ask(pair: Pair, token: string, asked: Ask): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await post(gateway.url, pair.client, token, bodyOf(pair.client, asked));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The error that a call ends in, as HTTP: whole, and in the dialect of the path. */
async function refusal(pair: Pair, token: string, asked: Ask): Promise<Told> {
  const answer = await ask(pair, token, asked);
  assert.ok(answer.status >= 400, `an error, not ${answer.status} ${answer.text.slice(0, 200)}`);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
  const body = JSON.parse(answer.text);
  const code = codeIn(ENVELOPE[pair.client], answer.status, body);
  return { ...answer, code, message: body.error.message, param: body.error.param };
}

const lineOf = (headers: Headers) =>
  until('the log line', () =>
    gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === headers.get('x-request-id')),
  );

/** The number of the account that a request went to. */
const accountOf = ({ headers }: JournalEntry): string | undefined =>
  /sk-[a-z]+(?:-room-\d+-(\d+))?$/.exec(
    headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key'] ?? '',
  )?.[1];
const accountsAsked = (): (string | undefined)[] => sim.journal.requests.map(accountOf);

const TEXT = 'hello there my dear friend';
const isMessages = ({ client }: Pair): boolean => client === 'messages';
const OVERLOADED = (pair: Pair): number => (isMessages(pair) ? 529 : 503);

for (const pair of PAIRS) {
  describe(`before the first byte, ${nameOf(pair)}`, () => {
    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'unary';

      test(`a prompt that is too long is a 400 in the words that clients look for (${how})`, async () => {
        const told = await refusal(pair, key(pair.group), { model: 'demo-text@context_too_long', text: TEXT, stream });
        assert.equal(told.status, 400);
        assert.equal(told.code, 'context_length_exceeded');
        if (isMessages(pair)) assert.match(told.message, /^prompt is too long/);
        else {
          assert.equal(
            told.message,
            'Your input exceeds the context window of this model. Please adjust your input and try again.',
          );
        }
        if (isMessages(pair) && pair.upstream === 'generate')
          assert.equal(told.message, 'prompt is too long: 1200000 tokens > 1048576 maximum');
      });

      const limited = room(pair, [{ text: 'demo-text@fault=429;retry_after=12' }]);
      test(`[S75 N6] a rate limit without another account says how long to wait (${how})`, async () => {
        const token = limited();
        const told = await refusal(pair, token, { text: TEXT, stream });
        assert.equal(told.status, 429);
        assert.equal(told.code, 'rate_limit_exceeded');
        assert.equal(told.headers.get('retry-after'), '12');
        assert.match(told.message, /try again in 12s/);
        const again = await refusal(pair, token, { text: TEXT, stream });
        assert.equal(again.status, 429);
        assert.ok(Number(again.headers.get('retry-after')) <= 12);
        assert.equal(sim.journal.requests.length, 1, 'an account that rests is not asked');
      });

      const precise = room(pair, [{}], () => scripted.url);
      test(`the provider's own figure of how long to wait is passed on, to the millisecond where SDKs read it (${how})`, async () => {
        const token = precise();
        scripted.answer(roomOf(token), (response) =>
          response
            .writeHead(429, { 'content-type': 'application/json', 'retry-after': '2', 'retry-after-ms': '1500' })
            .end(JSON.stringify(limiting(pair.upstream, '1.5s'))),
        );
        const told = await refusal(pair, token, { text: TEXT, stream });
        assert.equal(told.status, 429);
        assert.equal(told.headers.get('retry-after'), '2');
        assert.equal(told.headers.get('retry-after-ms'), isMessages(pair) ? null : '1500');
        const again = await refusal(pair, token, { text: TEXT, stream });
        const left = Number(again.headers.get('retry-after-ms'));
        if (!isMessages(pair)) assert.ok(left > 0 && left <= 2_000, `while the account rests: ${left}`);
      });

      test(`a page instead of an answer is a failure of the provider, and is not shown (${how})`, async () => {
        const told = await refusal(pair, key(pair.group), { model: 'demo-text@html', text: TEXT, stream });
        assert.equal(told.status, 502);
        assert.equal(told.code, 'upstream_error');
        assert.doesNotMatch(told.text, /<|Simulated/);
      });

      test(`rubbish with status 200 is a failure of the provider (${how})`, async () => {
        const told = await refusal(pair, key(pair.group), { model: 'demo-text@garbage', text: TEXT, stream });
        assert.equal(told.status, 502);
        assert.equal(told.code, 'upstream_error');
        assert.doesNotMatch(told.text, /this is/);
        assert.deepEqual((await lineOf(told.headers)).faults, ['failed']);
      });

      for (const status of [400, 404]) {
        const page = `demo-text@html;status=${status}`;
        const enter = room(pair, [{ text: page }, {}]);
        test(`a page with status ${status} is not the caller's fault: another account answers, alone it is 502 (${how})`, async () => {
          const told = await refusal(pair, key(pair.group), { model: page, text: TEXT, stream });
          assert.deepEqual([told.status, told.code], [502, 'upstream_error']);
          assert.doesNotMatch(told.text, /<|Simulated/);
          assert.equal((await ask(pair, enter(), { text: TEXT, stream })).status, 200);
          assert.deepEqual(accountsAsked(), ['0', '1']);
        });
      }

      for (const [status, code] of [
        [413, 'request_too_large'],
        [504, 'upstream_timeout'],
      ] as const) {
        test(`status ${status} of the provider is told as ${code} (${how})`, async () => {
          const told = await refusal(pair, key(pair.group), { model: `demo-text@fault=${status}`, text: TEXT, stream });
          assert.deepEqual([told.status, told.code], [status, code]);
        });
      }

      for (const fault of ['html', 'garbage', 'fault=503', 'fault=429', 'fault=404', 'reset', 'bad_key'] as const) {
        const enter = room(pair, [{ text: `demo-text@${fault}` }, {}]);
        test(`after ${fault} another account answers (${how})`, async () => {
          const token = enter();
          const answer = await ask(pair, token, { text: TEXT, stream });
          assert.equal(answer.status, 200, answer.text);
          assert.match(answer.text, /dear/);
          assert.deepEqual(accountsAsked(), ['0', '1']);
          assert.equal((await lineOf(answer.headers)).attempts, 2);
        });
      }

      const refusing = room(pair, [{ text: 'demo-text@fault=400' }, {}]);
      test(`a refused request keeps its status and the provider's words, and nobody else is asked (${how})`, async () => {
        const token = refusing();
        const told = await refusal(pair, token, { text: TEXT, stream });
        assert.equal(told.status, 400);
        assert.equal(told.code, pair.upstream === 'responses' ? 'invalid_value' : 'invalid_request');
        assert.equal(told.message, 'Simulated failure with status 400');
        assert.deepEqual(accountsAsked(), ['0']);
      });

      const talkative = room(pair, [{ text: 'demo-text@leak' }]);
      test(`what the provider says of our account is taken out of its words (${how})`, async () => {
        const token = talkative();
        const told = await refusal(pair, token, { text: TEXT, stream });
        assert.equal(told.status, 400);
        assert.match(told.message, /^Request to .+ failed\.$/);
        assert.doesNotMatch(told.text, new RegExp(`sk-upstream|127\\.0\\.0\\.1|${sim.port}`));
      });
    }

    for (const credential of ['sk-bad', 'sk-broke']) {
      const shared = room(pair, [{ api_key: credential }, {}]);
      const alone = room(pair, [{ api_key: credential }]);
      test(`[S76 N6] an account with ${credential} is passed over, and alone reads as overload`, async () => {
        assert.equal((await ask(pair, shared(), { text: TEXT })).status, 200);
        assert.deepEqual(accountsAsked(), [undefined, '1']);
        const token = alone();
        for (const stream of [false, true]) {
          const told = await refusal(pair, token, { text: TEXT, stream });
          assert.equal(told.status, OVERLOADED(pair));
          assert.equal(told.code, 'server_is_overloaded');
          assert.doesNotMatch(told.text, /sk-b|api.?key|quota|spend/i);
        }
        assert.equal(sim.journal.requests.length, 1, 'the account is not asked again');
      });
    }

    const both = room(pair, [{}, {}]);
    test('a model that no account has is 404, after each was asked', async () => {
      const told = await refusal(pair, both(), { model: 'missing-model', text: TEXT });
      assert.equal(told.status, 404);
      assert.equal(told.code, 'model_not_found');
      assert.deepEqual(accountsAsked(), ['0', '1']);
    });

    for (const fault of ['eof_mid', 'reset_mid']) {
      const enter = room(pair, [{ text: `demo-text@${fault}` }, {}]);
      test(`a whole answer cut by ${fault} is 502, or comes from another account`, async () => {
        const told = await refusal(pair, key(pair.group), { model: `demo-text@${fault}`, text: TEXT });
        assert.equal(told.status, 502);
        const answer = await ask(pair, enter(), { text: TEXT });
        assert.equal(answer.status, 200);
        assert.deepEqual(accountsAsked(), ['0', '1']);
      });
    }

    const early = room(pair, [{ text: 'demo-text@error_first;status=429' }]);
    const wrong = room(pair, [{ text: 'demo-text@error_first;status=400' }, {}]);
    test('[S66 N27] a stream whose first event is an error becomes an HTTP error', async () => {
      const told = await refusal(pair, key(pair.group), { model: 'demo-text@error_first', text: TEXT, stream: true });
      assert.equal(told.status, pair.upstream === 'responses' ? 502 : OVERLOADED(pair));
      assert.equal((await refusal(pair, early(), { text: TEXT, stream: true })).status, 429);
      const refused = await refusal(pair, wrong(), { text: TEXT, stream: true });
      assert.equal(refused.status, 400);
      assert.equal(refused.message, 'Simulated failure with status 400');
      assert.deepEqual(accountsAsked(), ['0'], 'a request at fault is not tried elsewhere');
    });

    const next = room(pair, [{ text: 'demo-text@error_first' }, {}]);
    test('[S66] a stream whose first event is an error is taken over by another account', async () => {
      const answer = await ask(pair, next(), { text: TEXT, stream: true });
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.match(answer.text, /dear/);
      assert.doesNotMatch(answer.text, /error"?:\s*\{|event: error/);
      assert.deepEqual(accountsAsked(), ['0', '1']);
    });
  });

  describe(`in the middle of a stream, ${nameOf(pair)}`, () => {
    for (const fault of ['reset_mid', 'eof_mid', 'error_mid'] as const) {
      const enter = room(pair, [{ text: `demo-text@${fault}` }, {}]);
      test(`[N6] ${fault} ends in the error of the dialect, and the account rests`, async () => {
        const token = enter();
        const answer = await ask(pair, token, { text: TEXT, stream: true });
        assert.equal(answer.status, 200);
        const failure = failureIn[pair.client](blocksOf(answer.text));
        const isOverload = fault === 'error_mid' && pair.upstream !== 'responses';
        if (isMessages(pair)) assert.equal(failure.type, isOverload ? 'overloaded_error' : 'api_error');
        if (pair.client === 'responses')
          assert.equal(failure.code, isOverload ? 'server_is_overloaded' : 'server_error');
        if (pair.client === 'chat')
          assert.equal(failure.type, isOverload ? 'service_unavailable_error' : 'server_error');
        if (fault !== 'error_mid') assert.match(failure.message, /closed the stream before completion/);
        const line = await lineOf(answer.headers);
        assert.deepEqual(line.faults, [isOverload ? 'overloaded' : 'failed']);
        assert.equal(line.attempts, 1, 'what was begun is not begun again elsewhere');
        assert.equal((await ask(pair, token, { text: TEXT })).status, 200);
        assert.deepEqual(accountsAsked(), ['0', '1']);
      });

      test(`[N33] ${fault} is a failure to the official SDK`, async () => {
        const body = bodyOf(pair.client, { model: `demo-text@${fault}`, text: TEXT });
        await FAILS_IN_SDK[pair.client](body, key(pair.group));
      });
    }

    const fieldful = room(pair, [{}], () => scripted.url);
    test('the field that the provider blames is named as the client calls it, or not at all', async () => {
      const token = fieldful();
      for (const [field, own] of BLAMED[pair.upstream]) {
        scripted.answer(roomOf(token), (response) =>
          response
            .writeHead(400, { 'content-type': 'application/json' })
            .end(JSON.stringify(naming[pair.upstream]('Not like this.', field))),
        );
        for (const stream of [false, true]) {
          const told = await refusal(pair, token, { text: TEXT, stream });
          assert.deepEqual([told.status, told.message], [400, 'Not like this.']);
          if (!isMessages(pair)) assert.equal(told.param, own ? CONVERSATION[pair.client] : null, field);
        }
      }
    });

    const telling = room(pair, [{}], () => scripted.url);
    test('our credential and address are taken out of an error in the stream, before and after its first word', async () => {
      const token = telling();
      const secret = /sk-upstream-room-[\d-]+/.source;
      const words = `Bad request to ${scripted.url}/x with key sk-upstream-${roomOf(token)}-0.`;
      scripted.answer(roomOf(token), (response) => asStream(response).end(blaming[pair.upstream](words)));
      const told = await refusal(pair, token, { text: TEXT, stream: true });
      assert.equal(told.status, 400);
      scripted.answer(roomOf(token), (response) =>
        asStream(response).end(beginning(pair.upstream, 'Once ', 'upon') + blaming[pair.upstream](words)),
      );
      const answer = await ask(pair, token, { text: TEXT, stream: true });
      const { message } = failureIn[pair.client](blocksOf(answer.text));
      for (const text of [told.message, message]) {
        assert.match(text, /^Bad request to /);
        assert.doesNotMatch(text, new RegExp(`${secret}|127\\.0\\.0\\.1`));
      }
    });

    test('an error as the first event that blames the length of the prompt keeps its code', {}, async () => {
      const token = telling();
      const words: Record<Pair['upstream'], string> = {
        messages: 'prompt is too long: 250000 tokens > 200000 maximum',
        responses: 'Your input exceeds the context window of this model.',
        generate: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      };
      scripted.answer(roomOf(token), (response) =>
        asStream(response).end(
          blaming[pair.upstream](words[pair.upstream]).replace('invalid_value', 'context_length_exceeded'),
        ),
      );
      const told = await refusal(pair, token, { text: TEXT, stream: true });
      assert.equal(told.status, 400);
      assert.equal(told.code, 'context_length_exceeded');
    });
  });
}

/** Fields that a provider blames, and whether they are the conversation. */
const BLAMED: Readonly<Record<Pair['upstream'], readonly (readonly [string, boolean])[]>> = {
  messages: [['messages.0', false]],
  responses: [
    ['input[3].content', true],
    ['include[0]', false],
  ],
  generate: [
    ['contents[0].parts[0]', true],
    ['generation_config.seed', false],
  ],
};
const CONVERSATION: Readonly<Record<Pair['client'], string>> = {
  messages: 'messages',
  chat: 'messages',
  responses: 'input',
};

type FailsInSdk = (body: Record<string, unknown>, token: string) => Promise<void>;

/** `as never`: the bodies are made for the wire, not for the types of three SDKs. */
const FAILS_IN_SDK: Readonly<Record<Pair['client'], FailsInSdk>> = {
  async messages(body, token) {
    const stream = anthropic(gateway.url, token).messages.stream(body as never);
    await assert.rejects(stream.finalMessage(), /overloaded_error|api_error/);
  },
  async chat(body, token) {
    for (const sdk of [openai, openai6]) {
      const stream = (sdk as typeof openai)(gateway.url, token).chat.completions.stream(body as never);
      await assert.rejects(stream.finalChatCompletion(), (error: Error) => error.constructor.name.endsWith('Error'));
    }
  },
  async responses(body, token) {
    for (const sdk of [openai, openai6]) {
      const stream = (sdk as typeof openai)(gateway.url, token).responses.stream(body as never);
      let last: string | undefined;
      for await (const event of stream) last = event.type;
      assert.equal(last, 'response.failed');
      assert.equal((await stream.finalResponse()).status, 'failed');
    }
  },
};

// ---------------------------------------------------------------- refused before anything is sent

interface Bad {
  readonly why: string;
  readonly body: object;
  readonly code?: string;
  /** Named in the message, and in `param` where the dialect has it. */
  readonly field: string;
  /** Where it is not the beginning of the field. */
  readonly param?: string;
  readonly groups?: readonly string[];
}

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const M = { model: 'demo-text', max_tokens: 100, ...user('hi') };
const C = { model: 'demo-text', ...user('hi') };
const R = { model: 'demo-text', input: 'hi' };

const BAD: Readonly<Record<Pair['client'], readonly Bad[]>> = {
  messages: [
    { why: 'no model', body: { ...M, model: undefined }, field: 'model' },
    { why: 'a model that is a number', body: { ...M, model: 7 }, field: 'model' },
    { why: 'no messages', body: { ...M, messages: undefined }, field: 'messages' },
    { why: 'messages that are a text', body: { ...M, messages: 'hi' }, field: 'messages' },
    { why: 'no max_tokens', body: { ...M, max_tokens: undefined }, field: 'max_tokens' },
    { why: 'max_tokens as text', body: { ...M, max_tokens: '100' }, field: 'max_tokens' },
    { why: 'stream as text', body: { ...M, stream: 'yes' }, field: 'stream' },
    { why: 'a temperature out of range', body: { ...M, temperature: 2 }, code: 'invalid_value', field: 'temperature' },
    {
      why: 'a role that does not exist',
      body: { ...M, messages: [{ role: 'robot', content: 'hi' }] },
      code: 'invalid_value',
      field: 'messages[0].role',
    },
    {
      why: 'a block of a type that does not exist',
      body: { ...M, ...user([{ type: 'hologram', text: 'hi' }]) },
      code: 'unsupported_parameter',
      field: 'messages[0].content[0]',
    },
    {
      why: 'instructions of a type that does not exist',
      body: { ...M, system: [{ type: 'hologram', text: 'hi' }] },
      code: 'unsupported_parameter',
      field: 'system[0].type',
    },
    {
      why: 'a text block without a text',
      body: { ...M, ...user([{ type: 'text' }]) },
      field: 'messages[0].content[0].text',
    },
    {
      why: 'a result of a call that nobody made',
      body: { ...M, ...user([{ type: 'tool_result', tool_use_id: 'toolu_nobody', content: 'x' }]) },
      code: 'invalid_value',
      field: 'toolu_nobody',
    },
    { why: 'a tool without a name', body: { ...M, tools: [{ input_schema: { type: 'object' } }] }, field: 'tools[0]' },
    {
      why: 'an empty stop sequence',
      body: { ...M, stop_sequences: ['a', ''] },
      code: 'invalid_value',
      field: 'stop_sequences[1]',
    },
    {
      why: 'a thinking budget below the least',
      body: { ...M, thinking: { type: 'enabled', budget_tokens: 10 } },
      code: 'invalid_value',
      field: 'thinking.budget_tokens',
    },
    {
      why: 'a container of another provider',
      body: { ...M, container: 'c1' },
      code: 'unsupported_parameter',
      field: 'container',
    },
    {
      why: 'a conversation that ends with the assistant',
      body: { ...M, messages: [...M.messages, { role: 'assistant', content: 'I' }] },
      field: 'prefill',
      groups: ['openai'],
    },
  ],
  chat: [
    { why: 'no model', body: { ...C, model: undefined }, field: 'model' },
    { why: 'no messages', body: { ...C, messages: undefined }, field: 'messages' },
    { why: 'messages that are an object', body: { ...C, messages: {} }, field: 'messages' },
    { why: 'two answers', body: { ...C, n: 2 }, code: 'unsupported_parameter', field: 'n' },
    { why: 'a bias', body: { ...C, logit_bias: { 1: 5 } }, code: 'unsupported_parameter', field: 'logit_bias' },
    { why: 'log probabilities', body: { ...C, logprobs: true }, code: 'unsupported_parameter', field: 'logprobs' },
    { why: 'a temperature as text', body: { ...C, temperature: 'hot' }, field: 'temperature' },
    { why: 'too many stops', body: { ...C, stop: [...'abcde'] }, code: 'invalid_value', field: 'stop' },
    { why: 'no room for an answer', body: { ...C, max_tokens: 0 }, code: 'invalid_value', field: 'max_tokens' },
    {
      why: 'a role that does not exist',
      body: { ...C, messages: [{ role: 'robot', content: 'hi' }] },
      code: 'invalid_value',
      field: 'messages[0].role',
    },
    {
      why: 'a part of a type that does not exist',
      body: { ...C, ...user([{ type: 'hologram' }]) },
      code: 'unsupported_parameter',
      field: 'messages[0].content[0]',
    },
    {
      why: 'a result of a call that nobody made',
      body: { ...C, messages: [...C.messages, { role: 'tool', tool_call_id: 'call_nobody', content: 'x' }] },
      code: 'invalid_value',
      field: 'call_nobody',
      param: 'messages[1].tool_call_id',
    },
    {
      why: 'a format that does not exist',
      body: { ...C, response_format: { type: 'xml' } },
      code: 'invalid_value',
      field: 'response_format.type',
    },
    {
      why: 'a tool without a name',
      body: { ...C, tools: [{ type: 'function', function: {} }] },
      field: 'tools[0].function.name',
    },
  ],
  responses: [
    { why: 'no model', body: { ...R, model: undefined }, field: 'model' },
    { why: 'no input', body: { ...R, input: undefined }, field: 'input' },
    { why: 'input that is a number', body: { ...R, input: 7 }, field: 'input' },
    {
      why: 'a response that is not there',
      body: { ...R, previous_response_id: 'resp_nobody' },
      code: 'previous_response_not_found',
      field: 'resp_nobody',
      param: 'previous_response_id',
    },
    {
      why: 'work in the background',
      body: { ...R, background: true },
      code: 'unsupported_parameter',
      field: 'background',
    },
    {
      why: 'a conversation that is kept elsewhere',
      body: { ...R, conversation: 'conv_1' },
      code: 'unsupported_parameter',
      field: 'conversation',
    },
    { why: 'max_output_tokens as text', body: { ...R, max_output_tokens: '1' }, field: 'max_output_tokens' },
    { why: 'metadata that is no text', body: { ...R, metadata: { a: 1 } }, field: 'metadata.a' },
    {
      why: 'an item of a type that does not exist',
      body: { ...R, input: [{ type: 'hologram' }] },
      code: 'unsupported_parameter',
      field: 'input[0].type',
    },
    {
      why: 'a part of a type that does not exist',
      body: { ...R, input: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      code: 'unsupported_parameter',
      field: 'input[0].content[0]',
    },
    {
      why: 'an output of a call that nobody made',
      body: { ...R, input: [{ type: 'function_call_output', call_id: 'call_nobody', output: 'x' }] },
      field: 'call_nobody',
      param: 'input',
    },
    {
      why: 'a tool without a name',
      body: { ...R, tools: [{ type: 'function', parameters: {} }] },
      field: 'tools[0].name',
    },
  ],
};

for (const pair of PAIRS) {
  describe(`refused before anything is sent, ${nameOf(pair)}`, () => {
    for (const { why, body, code = 'invalid_request', field, param, groups } of BAD[pair.client]) {
      if (groups && !groups.includes(pair.group)) continue;
      test(why, async () => {
        sim.journal.clear();
        for (const stream of [false, true]) {
          const told = await refusal(pair, key(pair.group), {
            text: '',
            more: { stream: undefined, ...without(body), ...(stream && !('stream' in body) && { stream }) },
          });
          assert.equal(told.status, 400, told.message);
          assert.equal(told.code, code, told.message);
          assert.ok(told.message.includes(field), `names ${field}: ${told.message}`);
          if (!isMessages(pair)) assert.ok(String(told.param).startsWith(param ?? field), `param is ${told.param}`);
        }
        assert.deepEqual(sim.journal.requests, [], 'nothing was sent');
      });
    }

    for (const [why, body] of [
      ['an empty body', ''],
      ['half a JSON text', '{"model": "demo-text", '],
      ['a list', '[]'],
      ['a text', '"hello"'],
      ['JSON that is too deep', `{"model":"demo-text","x":${'['.repeat(2_000)}${']'.repeat(2_000)}}`],
    ] as const) {
      test(why, async () => {
        sim.journal.clear();
        const response = await post(gateway.url, pair.client, key(pair.group), body);
        assert.equal(response.status, 400);
        assert.equal(codeIn(ENVELOPE[pair.client], 400, await response.json()), 'invalid_request');
        assert.deepEqual(sim.journal.requests, []);
      });
    }

    for (const [why, name] of [
      ['half a character', '\\ud800'],
      ['longer than a header may be', '\u00e9'.repeat(30_000)],
    ] as const) {
      for (const stream of [true, false]) {
        test(`a field with a name that is ${why} costs nobody the answer, ${stream ? 'streamed' : 'whole'}`, async () => {
          sim.journal.clear();
          const body = JSON.stringify(bodyOf(pair.client, { text: TEXT, stream })).replace(/}$/, `,"${name}":1}`);
          const response = await post(gateway.url, pair.client, key(pair.group), body);
          assert.equal(response.status, 200, await response.text());
          assert.equal(sim.journal.requests.length, 1, 'the provider was asked once');
        });
      }
    }

    for (const [why, model] of [
      ['half a character', 'demo-\ud800'],
      ['a long text', `demo-${'x'.repeat(20_000)}`],
    ] as const) {
      test(`a model that is called ${why}`, async () => {
        sim.journal.clear();
        const told = await refusal(pair, key(pair.group), { model, text: TEXT });
        assert.equal(told.status, 400, told.message);
        assert.equal(told.code, 'invalid_request');
        assert.deepEqual(sim.journal.requests, []);
      });
    }

    test('a model that the group does not have', async () => {
      sim.journal.clear();
      const told = await refusal(pair, key(pair.group), { model: 'nothing-like-it', text: TEXT });
      assert.equal(told.status, 404);
      assert.equal(told.code, 'model_not_found');
      assert.deepEqual(sim.journal.requests, []);
    });
  });
}

/** Every field that the body has or lacks stands as given, whatever the usual body would say. */
function without(body: object): object {
  const fields = ['model', 'messages', 'input', 'max_tokens'];
  return { ...Object.fromEntries(fields.map((field) => [field, undefined])), ...body };
}
