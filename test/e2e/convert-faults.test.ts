// set: sweeps; every error in every pair of dialects
/** Converted calls that fail: the error that the client receives, the failover, and what must not leave the gateway. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { type JournalEntry, type Sim, startSim } from '../../sim/index.ts';
import {
  type ChatInput,
  ERROR_FORMAT,
  groupsSetup,
  PAIRS,
  type Pair,
  pairName,
  parseBlocks,
  post,
  requestBody,
  streamError,
  type TestAccount,
  type TestGroup,
} from '../support/conversion-harness.ts';
import { errorCode } from '../support/error-body.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  asStream,
  fieldErrorBody,
  rateLimitBody,
  requestErrorEvent,
  type Scripted,
  startScripted,
  streamStart,
} from '../support/scripted.ts';
import { anthropic, openai, openai6 } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

let sim: Sim;
let scripted: Scripted;
let gateway: TestGateway;
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
});
after(async () => {
  await gateway.stop();
  await scripted.close();
  await sim.close();
});

const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

const groupOf = (token: string): string =>
  Object.entries(keys).find(([, value]) => value === token)?.[0] ?? assert.fail('no group');

/** Declares a group with these accounts. The returned function clears the simulator's journal and gives the key. */
function declareGroup({ upstream }: Pair, accounts: readonly TestAccount[], at?: () => string): () => string {
  const id = `group-${testGroups.length}`;
  testGroups.push({ id, upstream, accounts, ...(at && { at }) });
  return () => {
    sim.journal.clear();
    return key(id);
  };
}

interface ErrorResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly code: string;
  readonly message: string;
  readonly param: unknown;
}

async function send(
  pair: Pair,
  token: string,
  input: ChatInput,
): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await post(gateway.url, pair.client, token, requestBody(pair.client, input));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Sends a request that fails; asserts a complete HTTP error in the dialect of the path. */
async function requestError(pair: Pair, token: string, input: ChatInput): Promise<ErrorResponse> {
  const response = await send(pair, token, input);
  assert.ok(response.status >= 400, `an error, not ${response.status} ${response.text.slice(0, 200)}`);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  const body = JSON.parse(response.text);
  const code = errorCode(ERROR_FORMAT[pair.client], response.status, body);
  return { ...response, code, message: body.error.message, param: body.error.param };
}

const MEBIBYTE = Buffer.alloc(2 ** 20, ' ');

/** Writes spaces until the gateway closes the connection. */
function sendForever(response: ServerResponse): void {
  while (!response.destroyed)
    if (!response.write(MEBIBYTE)) return void response.once('drain', () => sendForever(response));
}

const lineOf = (headers: Headers) =>
  until('the log line', () =>
    gateway.log.find(({ msg, request }) => msg === 'request.completed' && request === headers.get('x-request-id')),
  );

/** The index of the account that a request went to. */
const accountOf = ({ headers }: JournalEntry): string | undefined =>
  /sk-[a-z]+(?:-group-\d+-(\d+))?$/.exec(
    headers.authorization ?? headers['x-api-key'] ?? headers['x-goog-api-key'] ?? '',
  )?.[1];
const accountsCalled = (): (string | undefined)[] => sim.journal.requests.map(accountOf);

const TEXT = 'hello there my dear friend';
const isMessages = ({ client }: Pair): boolean => client === 'messages';
const overloadStatus = (pair: Pair): number => (isMessages(pair) ? 529 : 503);

for (const pair of PAIRS) {
  const name = pairName(pair);
  describe(`errors before the first byte, ${name}`, () => {
    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'unary';

      test(`G 7 r3: context overflow is 400 with the message that clients match (${name}, ${how})`, async () => {
        const error = await requestError(pair, key(pair.group), {
          model: 'demo-text@context_too_long',
          text: TEXT,
          stream,
        });
        assert.equal(error.status, 400);
        assert.equal(error.code, 'context_length_exceeded');
        if (isMessages(pair)) assert.match(error.message, /^prompt is too long/);
        else {
          assert.equal(
            error.message,
            'Your input exceeds the context window of this model. Please adjust your input and try again.',
          );
        }
        if (isMessages(pair) && pair.upstream === 'generate')
          assert.equal(error.message, 'prompt is too long: 1200000 tokens > 1048576 maximum');
      });

      const rateLimited = declareGroup(pair, [{ text: 'demo-text@fault=429;retry_after=12' }]);
      test(`G 7 r3: rate limit is 429 with retry-after, and an account in cooldown gets no request (${name}, ${how})`, async () => {
        const token = rateLimited();
        const error = await requestError(pair, token, { text: TEXT, stream });
        assert.equal(error.status, 429);
        assert.equal(error.code, 'rate_limit_exceeded');
        assert.equal(error.headers.get('retry-after'), '12');
        assert.match(error.message, /try again in 12s/);
        const again = await requestError(pair, token, { text: TEXT, stream });
        assert.equal(again.status, 429);
        assert.ok(Number(again.headers.get('retry-after')) <= 12);
        assert.equal(sim.journal.requests.length, 1, 'no request during the cooldown');
      });

      const precise = declareGroup(pair, [{}], () => scripted.url);
      test(`G 7 r3: the provider's retry delay is passed on, in milliseconds where SDKs read them (${name}, ${how})`, async () => {
        const token = precise();
        scripted.respondWith(groupOf(token), (response) =>
          response
            .writeHead(429, { 'content-type': 'application/json', 'retry-after': '2', 'retry-after-ms': '1500' })
            .end(JSON.stringify(rateLimitBody(pair.upstream, '1.5s'))),
        );
        const error = await requestError(pair, token, { text: TEXT, stream });
        assert.equal(error.status, 429);
        assert.equal(error.headers.get('retry-after'), '2');
        assert.equal(error.headers.get('retry-after-ms'), isMessages(pair) ? null : '1500');
        const again = await requestError(pair, token, { text: TEXT, stream });
        const left = Number(again.headers.get('retry-after-ms'));
        if (!isMessages(pair)) assert.ok(left > 0 && left <= 2_000, `during the cooldown: ${left}`);
      });

      const endless = declareGroup(pair, [{}], () => scripted.url);
      for (const [status, code] of [
        [200, 'upstream_error'],
        [413, 'request_too_large'],
      ] as const) {
        test(`an endless body with status ${status} is cut off and becomes ${code} (${name}, ${how})`, async () => {
          const token = endless();
          const isClosed = Promise.withResolvers<void>();
          scripted.respondWith(groupOf(token), (response) => {
            response.on('close', isClosed.resolve);
            sendForever(response.writeHead(status, { 'content-type': 'application/json' }));
          });
          assert.equal((await requestError(pair, token, { text: TEXT, stream })).code, code);
          await isClosed.promise;
        });
      }

      test(`an HTML page with status 200 is 502 upstream_error and not shown (${name}, ${how})`, async () => {
        const error = await requestError(pair, key(pair.group), { model: 'demo-text@html', text: TEXT, stream });
        assert.equal(error.status, 502);
        assert.equal(error.code, 'upstream_error');
        assert.doesNotMatch(error.text, /<|Simulated/);
      });

      test(`an unreadable body with status 200 is 502 upstream_error (${name}, ${how})`, async () => {
        const error = await requestError(pair, key(pair.group), { model: 'demo-text@garbage', text: TEXT, stream });
        assert.equal(error.status, 502);
        assert.equal(error.code, 'upstream_error');
        assert.doesNotMatch(error.text, /this is/);
        assert.deepEqual((await lineOf(error.headers)).faults, ['failed']);
      });

      for (const status of [400, 404]) {
        const page = `demo-text@html;status=${status}`;
        const withFailover = declareGroup(pair, [{ text: page }, {}]);
        test(`an HTML page with status ${status} leads to failover, and to 502 without another account (${name}, ${how})`, async () => {
          const error = await requestError(pair, key(pair.group), { model: page, text: TEXT, stream });
          assert.deepEqual([error.status, error.code], [502, 'upstream_error']);
          assert.doesNotMatch(error.text, /<|Simulated/);
          assert.equal((await send(pair, withFailover(), { text: TEXT, stream })).status, 200);
          assert.deepEqual(accountsCalled(), ['0', '1']);
        });
      }

      for (const [status, code] of [
        [413, 'request_too_large'],
        [504, 'upstream_timeout'],
      ] as const) {
        test(`G 7 r3: provider status ${status} becomes ${code} (${name}, ${how})`, async () => {
          const error = await requestError(pair, key(pair.group), {
            model: `demo-text@fault=${status}`,
            text: TEXT,
            stream,
          });
          assert.deepEqual([error.status, error.code], [status, code]);
        });
      }

      for (const fault of ['html', 'garbage', 'fault=503', 'fault=429', 'fault=404', 'reset', 'bad_key'] as const) {
        const withFailover = declareGroup(pair, [{ text: `demo-text@${fault}` }, {}]);
        test(`G 7 r3: failover uses another account after ${fault} (${name}, ${how})`, async () => {
          const token = withFailover();
          const response = await send(pair, token, { text: TEXT, stream });
          assert.equal(response.status, 200, response.text);
          assert.match(response.text, /dear/);
          // On a connection that was idle before, a reset may mean that the provider has not read the request: it gets it again.
          const called = fault === 'reset' ? [...new Set(accountsCalled())] : accountsCalled();
          assert.deepEqual(called, ['0', '1']);
          assert.equal((await lineOf(response.headers)).attempts, 2);
        });
      }

      const rejecting = declareGroup(pair, [{ text: 'demo-text@fault=400' }, {}]);
      test(`G 7 r3: a rejected request keeps its status and message, without failover (${name}, ${how})`, async () => {
        const token = rejecting();
        const error = await requestError(pair, token, { text: TEXT, stream });
        assert.equal(error.status, 400);
        assert.equal(error.code, pair.upstream === 'responses' ? 'invalid_value' : 'invalid_request');
        assert.equal(error.message, 'Simulated failure with status 400');
        assert.deepEqual(accountsCalled(), ['0']);
      });

      const leaking = declareGroup(pair, [{ text: 'demo-text@leak' }]);
      test(`G 7 r3: account secrets and host names are removed from provider messages (${name}, ${how})`, async () => {
        const token = leaking();
        const error = await requestError(pair, token, { text: TEXT, stream });
        assert.equal(error.status, 400);
        assert.match(error.message, /^Request to .+ failed\.$/);
        assert.doesNotMatch(error.text, new RegExp(`sk-upstream|127\\.0\\.0\\.1|${sim.port}`));
      });
    }

    for (const credential of ['sk-bad', 'sk-broke']) {
      const shared = declareGroup(pair, [{ api_key: credential }, {}]);
      const alone = declareGroup(pair, [{ api_key: credential }]);
      test(`G 7 r3: an account with credential ${credential} leads to failover, and to an overload error when alone (${name})`, async () => {
        assert.equal((await send(pair, shared(), { text: TEXT })).status, 200);
        assert.deepEqual(accountsCalled(), [undefined, '1']);
        const token = alone();
        for (const stream of [false, true, false]) {
          const error = await requestError(pair, token, { text: TEXT, stream });
          assert.equal(error.status, overloadStatus(pair));
          assert.equal(error.code, 'server_is_overloaded');
          assert.doesNotMatch(error.text, /sk-b|api.?key|quota|spend/i);
        }
        const believed = credential === 'sk-bad' ? 2 : 1;
        assert.equal(sim.journal.requests.length, believed, 'no further request to the account');
      });
    }

    const twoAccounts = declareGroup(pair, [{}, {}]);
    test(`a model that no account has is 404 after failover through all accounts (${name})`, async () => {
      const error = await requestError(pair, twoAccounts(), { model: 'missing-model', text: TEXT });
      assert.equal(error.status, 404);
      assert.equal(error.code, 'model_not_found');
      assert.deepEqual(accountsCalled(), ['0', '1']);
    });

    for (const fault of ['eof_mid', 'reset_mid']) {
      const withFailover = declareGroup(pair, [{ text: `demo-text@${fault}` }, {}]);
      test(`a unary response cut by ${fault} leads to failover, and to 502 without another account (${name})`, async () => {
        const error = await requestError(pair, key(pair.group), { model: `demo-text@${fault}`, text: TEXT });
        assert.equal(error.status, 502);
        const response = await send(pair, withFailover(), { text: TEXT });
        assert.equal(response.status, 200);
        assert.deepEqual(accountsCalled(), ['0', '1']);
      });
    }

    const limitedFirst = declareGroup(pair, [{ text: 'demo-text@error_first;status=429' }]);
    const rejectedFirst = declareGroup(pair, [{ text: 'demo-text@error_first;status=400' }, {}]);
    test(`an error as the first stream event becomes an HTTP error (${name})`, async () => {
      const error = await requestError(pair, key(pair.group), {
        model: 'demo-text@error_first',
        text: TEXT,
        stream: true,
      });
      assert.equal(error.status, pair.upstream === 'responses' ? 502 : overloadStatus(pair));
      assert.equal((await requestError(pair, limitedFirst(), { text: TEXT, stream: true })).status, 429);
      const rejected = await requestError(pair, rejectedFirst(), { text: TEXT, stream: true });
      assert.equal(rejected.status, 400);
      assert.equal(rejected.message, 'Simulated failure with status 400');
      assert.deepEqual(accountsCalled(), ['0'], 'no failover for a rejected request');
    });

    const withFailover = declareGroup(pair, [{ text: 'demo-text@error_first' }, {}]);
    test(`an error as the first stream event leads to failover (${name})`, async () => {
      const response = await send(pair, withFailover(), { text: TEXT, stream: true });
      assert.equal(response.status, 200);
      assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
      assert.match(response.text, /dear/);
      assert.doesNotMatch(response.text, /error"?:\s*\{|event: error/);
      assert.deepEqual(accountsCalled(), ['0', '1']);
    });
  });

  describe(`errors inside a stream, ${name}`, () => {
    for (const fault of ['reset_mid', 'eof_mid', 'error_mid'] as const) {
      const withSecond = declareGroup(pair, [{ text: `demo-text@${fault}` }, {}]);
      test(`G 6: ${fault} ends the stream with the dialect's error event, and one such failure leaves the account in use (${name})`, async () => {
        const token = withSecond();
        const response = await send(pair, token, { text: TEXT, stream: true });
        assert.equal(response.status, 200);
        const failure = streamError[pair.client](parseBlocks(response.text));
        const isOverload = fault === 'error_mid' && pair.upstream !== 'responses';
        if (isMessages(pair)) assert.equal(failure.type, isOverload ? 'overloaded_error' : 'api_error');
        if (pair.client === 'responses')
          assert.equal(failure.code, isOverload ? 'server_is_overloaded' : 'server_error');
        if (pair.client === 'chat')
          assert.equal(failure.type, isOverload ? 'service_unavailable_error' : 'server_error');
        if (fault !== 'error_mid') assert.match(failure.message, /closed the stream before completion/);
        const line = await lineOf(response.headers);
        assert.deepEqual(line.faults, [isOverload ? 'overloaded' : fault === 'error_mid' ? 'failed' : 'truncated']);
        assert.equal(line.attempts, 1, 'no failover after the first byte');
        assert.equal((await send(pair, token, { text: TEXT })).status, 200);
        assert.deepEqual(accountsCalled(), ['0', '0', '1']);
      });

      test(`${fault} is an error to the official SDK (${name})`, async () => {
        const body = requestBody(pair.client, { model: `demo-text@${fault}`, text: TEXT });
        await FAILS_IN_SDK[pair.client](body, key(pair.group));
      });
    }

    const namingFields = declareGroup(pair, [{}], () => scripted.url);
    test(`the field in a provider error is translated to the client's field, or left out (${name})`, async () => {
      const token = namingFields();
      for (const [field, own] of FIELDS_IN_ERRORS[pair.upstream]) {
        scripted.respondWith(groupOf(token), (response) =>
          response
            .writeHead(400, { 'content-type': 'application/json' })
            .end(JSON.stringify(fieldErrorBody[pair.upstream]('Not like this.', field))),
        );
        for (const stream of [false, true]) {
          const error = await requestError(pair, token, { text: TEXT, stream });
          assert.deepEqual([error.status, error.message], [400, 'Not like this.']);
          if (!isMessages(pair)) assert.equal(error.param, own ? CONVERSATION[pair.client] : null, field);
        }
      }
    });

    const scriptedGroup = declareGroup(pair, [{}], () => scripted.url);
    test(`G 7 r3: credential and address are removed from errors inside a stream (${name})`, async () => {
      const token = scriptedGroup();
      const secret = /sk-upstream-group-[\d-]+/.source;
      const message = `Bad request to ${scripted.url}/x with key sk-upstream-${groupOf(token)}-0.`;
      scripted.respondWith(groupOf(token), (response) =>
        asStream(response).end(requestErrorEvent[pair.upstream](message)),
      );
      const error = await requestError(pair, token, { text: TEXT, stream: true });
      assert.equal(error.status, 400);
      scripted.respondWith(groupOf(token), (response) =>
        asStream(response).end(streamStart(pair.upstream, 'Once ', 'upon') + requestErrorEvent[pair.upstream](message)),
      );
      const response = await send(pair, token, { text: TEXT, stream: true });
      const inStream = streamError[pair.client](parseBlocks(response.text));
      for (const text of [error.message, inStream.message]) {
        assert.match(text, /^Bad request to /);
        assert.doesNotMatch(text, new RegExp(`${secret}|127\\.0\\.0\\.1`));
      }
    });

    test(`a context overflow as the first stream event keeps its code (${name})`, async () => {
      const token = scriptedGroup();
      const messages: Record<Pair['upstream'], string> = {
        messages: 'prompt is too long: 250000 tokens > 200000 maximum',
        responses: 'Your input exceeds the context window of this model.',
        generate: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      };
      scripted.respondWith(groupOf(token), (response) =>
        asStream(response).end(
          requestErrorEvent[pair.upstream](messages[pair.upstream]).replace('invalid_value', 'context_length_exceeded'),
        ),
      );
      const error = await requestError(pair, token, { text: TEXT, stream: true });
      assert.equal(error.status, 400);
      assert.equal(error.code, 'context_length_exceeded');
    });
  });
}

/** Fields in provider errors, and whether they belong to the conversation. */
const FIELDS_IN_ERRORS: Readonly<Record<Pair['upstream'], readonly (readonly [string, boolean])[]>> = {
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

/** `as never`: the bodies are wire JSON and do not fit the types of the SDKs. */
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

// ---------------------------------------------------------------- rejected before anything is sent

interface InvalidRequest {
  readonly why: string;
  readonly body: object;
  readonly code?: string;
  /** Named in the message, and in `param` where the dialect has it. */
  readonly field: string;
  /** The expected `param`, where it is not the beginning of `field`. */
  readonly param?: string;
  readonly groups?: readonly string[];
}

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const M = { model: 'demo-text', max_tokens: 100, ...user('hi') };
const C = { model: 'demo-text', ...user('hi') };
const R = { model: 'demo-text', input: 'hi' };

const INVALID_REQUESTS: Readonly<Record<Pair['client'], readonly InvalidRequest[]>> = {
  messages: [
    { why: 'no model', body: { ...M, model: undefined }, field: 'model' },
    { why: 'a number as model', body: { ...M, model: 7 }, field: 'model' },
    { why: 'no messages', body: { ...M, messages: undefined }, field: 'messages' },
    { why: 'a string as messages', body: { ...M, messages: 'hi' }, field: 'messages' },
    { why: 'no max_tokens', body: { ...M, max_tokens: undefined }, field: 'max_tokens' },
    { why: 'a string as max_tokens', body: { ...M, max_tokens: '100' }, field: 'max_tokens' },
    { why: 'a string as stream', body: { ...M, stream: 'yes' }, field: 'stream' },
    { why: 'a temperature out of range', body: { ...M, temperature: 2 }, code: 'invalid_value', field: 'temperature' },
    {
      why: 'an unknown role',
      body: { ...M, messages: [{ role: 'robot', content: 'hi' }] },
      code: 'invalid_value',
      field: 'messages[0].role',
    },
    {
      why: 'a block of unknown type',
      body: { ...M, ...user([{ type: 'hologram', text: 'hi' }]) },
      code: 'unsupported_parameter',
      field: 'messages[0].content[0]',
    },
    {
      why: 'a system block of unknown type',
      body: { ...M, system: [{ type: 'hologram', text: 'hi' }] },
      code: 'unsupported_parameter',
      field: 'system[0].type',
    },
    {
      why: 'a text block without text',
      body: { ...M, ...user([{ type: 'text' }]) },
      field: 'messages[0].content[0].text',
    },
    {
      why: 'a tool result for an unknown call',
      body: { ...M, ...user([{ type: 'tool_result', tool_use_id: 'toolu_unknown', content: 'x' }]) },
      code: 'invalid_value',
      field: 'toolu_unknown',
    },
    { why: 'a tool without a name', body: { ...M, tools: [{ input_schema: { type: 'object' } }] }, field: 'tools[0]' },
    {
      why: 'an empty stop sequence',
      body: { ...M, stop_sequences: ['a', ''] },
      code: 'invalid_value',
      field: 'stop_sequences[1]',
    },
    {
      why: 'a thinking budget below the minimum',
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
    { why: 'an object as messages', body: { ...C, messages: {} }, field: 'messages' },
    { why: 'n = 2', body: { ...C, n: 2 }, code: 'unsupported_parameter', field: 'n' },
    { why: 'a logit bias', body: { ...C, logit_bias: { 1: 5 } }, code: 'unsupported_parameter', field: 'logit_bias' },
    { why: 'log probabilities', body: { ...C, logprobs: true }, code: 'unsupported_parameter', field: 'logprobs' },
    { why: 'a string as temperature', body: { ...C, temperature: 'hot' }, field: 'temperature' },
    { why: 'too many stop sequences', body: { ...C, stop: [...'abcde'] }, code: 'invalid_value', field: 'stop' },
    { why: 'max_tokens = 0', body: { ...C, max_tokens: 0 }, code: 'invalid_value', field: 'max_tokens' },
    {
      why: 'an unknown role',
      body: { ...C, messages: [{ role: 'robot', content: 'hi' }] },
      code: 'invalid_value',
      field: 'messages[0].role',
    },
    {
      why: 'a part of unknown type',
      body: { ...C, ...user([{ type: 'hologram' }]) },
      code: 'unsupported_parameter',
      field: 'messages[0].content[0]',
    },
    {
      why: 'a tool result for an unknown call',
      body: { ...C, messages: [...C.messages, { role: 'tool', tool_call_id: 'call_unknown', content: 'x' }] },
      code: 'invalid_value',
      field: 'call_unknown',
      param: 'messages[1].tool_call_id',
    },
    {
      why: 'an unknown response format',
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
    { why: 'a number as input', body: { ...R, input: 7 }, field: 'input' },
    {
      why: 'an unknown previous response',
      body: { ...R, previous_response_id: 'resp_unknown' },
      code: 'previous_response_not_found',
      field: 'resp_unknown',
      param: 'previous_response_id',
    },
    {
      why: 'a background response that is not stored',
      body: { ...R, background: true, store: false },
      code: 'unsupported_parameter',
      field: 'background',
    },
    {
      why: 'a conversation stored at the provider',
      body: { ...R, conversation: 'conv_1' },
      code: 'unsupported_parameter',
      field: 'conversation',
    },
    { why: 'a string as max_output_tokens', body: { ...R, max_output_tokens: '1' }, field: 'max_output_tokens' },
    { why: 'a number as metadata value', body: { ...R, metadata: { a: 1 } }, field: 'metadata.a' },
    {
      why: 'an item of unknown type',
      body: { ...R, input: [{ type: 'hologram' }] },
      code: 'unsupported_parameter',
      field: 'input[0].type',
    },
    {
      why: 'a part of unknown type',
      body: { ...R, input: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      code: 'unsupported_parameter',
      field: 'input[0].content[0]',
    },
    {
      why: 'a tool output for an unknown call',
      body: { ...R, input: [{ type: 'function_call_output', call_id: 'call_unknown', output: 'x' }] },
      field: 'call_unknown',
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
  const name = pairName(pair);
  describe(`rejected before anything is sent, ${name}`, () => {
    for (const { why, body, code = 'invalid_request', field, param, groups } of INVALID_REQUESTS[pair.client]) {
      if (groups && !groups.includes(pair.group)) continue;
      test(`${name}: a request with ${why} is rejected before the provider call`, async () => {
        sim.journal.clear();
        for (const stream of [false, true]) {
          const error = await requestError(pair, key(pair.group), {
            text: '',
            more: { stream: undefined, ...onlyFieldsOf(body), ...(stream && !('stream' in body) && { stream }) },
          });
          assert.equal(error.status, 400, error.message);
          assert.equal(error.code, code, error.message);
          assert.ok(error.message.includes(field), `names ${field}: ${error.message}`);
          if (!isMessages(pair)) assert.ok(String(error.param).startsWith(param ?? field), `param is ${error.param}`);
        }
        assert.deepEqual(sim.journal.requests, [], 'the provider gets no request');
      });
    }

    for (const [why, body] of [
      ['an empty body', ''],
      ['truncated JSON', '{"model": "demo-text", '],
      ['a JSON array', '[]'],
      ['a JSON string', '"hello"'],
      ['JSON nested too deeply', `{"model":"demo-text","x":${'['.repeat(2_000)}${']'.repeat(2_000)}}`],
    ] as const) {
      test(`${name}: ${why} as the body is rejected before the provider call`, async () => {
        sim.journal.clear();
        const response = await post(gateway.url, pair.client, key(pair.group), body);
        assert.equal(response.status, 400);
        assert.equal(errorCode(ERROR_FORMAT[pair.client], 400, await response.json()), 'invalid_request');
        assert.deepEqual(sim.journal.requests, []);
      });
    }

    for (const [why, field] of [
      ['an unpaired surrogate', '\\ud800'],
      ['longer than a header', '\u00e9'.repeat(30_000)],
    ] as const) {
      for (const stream of [true, false]) {
        test(`${name}: an unknown field whose name is ${why} does not fail the call (${stream ? 'streamed' : 'unary'})`, async () => {
          sim.journal.clear();
          const body = JSON.stringify(requestBody(pair.client, { text: TEXT, stream })).replace(/}$/, `,"${field}":1}`);
          const response = await post(gateway.url, pair.client, key(pair.group), body);
          assert.equal(response.status, 200, await response.text());
          assert.equal(sim.journal.requests.length, 1, 'one request to the provider');
        });
      }
    }

    for (const [why, model] of [
      ['with an unpaired surrogate', 'demo-\ud800'],
      ['that is too long', `demo-${'x'.repeat(20_000)}`],
    ] as const) {
      test(`${name}: a model name ${why} is rejected before the provider call`, async () => {
        sim.journal.clear();
        const error = await requestError(pair, key(pair.group), { model, text: TEXT });
        assert.equal(error.status, 400, error.message);
        assert.equal(error.code, 'invalid_request');
        assert.deepEqual(sim.journal.requests, []);
      });
    }

    test(`${name}: a model that the group does not offer is 404 before the provider call`, async () => {
      sim.journal.clear();
      const error = await requestError(pair, key(pair.group), { model: 'nothing-like-it', text: TEXT });
      assert.equal(error.status, 404);
      assert.equal(error.code, 'model_not_found');
      assert.deepEqual(sim.journal.requests, []);
    });
  });
}

/** The body with every field that it lacks set to undefined, so that defaults of the harness do not fill in. */
function onlyFieldsOf(body: object): object {
  const fields = ['model', 'messages', 'input', 'max_tokens'];
  return { ...Object.fromEntries(fields.map((field) => [field, undefined])), ...body };
}
