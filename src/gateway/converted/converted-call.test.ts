import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import {
  accountAt,
  callerOf,
  callFor,
  MODEL,
  openFailoverServices,
  type ProviderStep,
  RecordingAdmission,
  RecordingClient,
  respondJson,
  type ScriptedProvider,
  startProvider,
} from '../../../test/support/upstream-call.ts';
import { until } from '../../../test/support/wait.ts';
import { ApiError, createSealer, estimateTokens } from '../../core/index.ts';
import { pairOf } from '../../dialects/index.ts';
import { ThreadPool } from '../../platform/threads/index.ts';
import { ClientStreams } from '../../platform/web/index.ts';
import type { Billing } from '../billing/admission.ts';
import { RejectedOptions } from '../rejected-options/rejected-options.ts';
import { ResponseStore } from '../stored/store.ts';
import type { ConvertedServices } from './context.ts';
import { ConvertedCall } from './converted-call.ts';
import { OpaqueCache } from './opaque-cache.ts';
import { RejectedOpaques } from './rejected-opaque.ts';

let provider: ScriptedProvider;
before(async () => {
  provider = await startProvider();
});
after(() => provider.close());

const event = (data: { type: string; [member: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const begin = (input: number): string =>
  event({ type: 'message_start', message: { id: 'msg', role: 'assistant', usage: { input_tokens: input } } });
const text = (value: string): string =>
  event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: value } });
const end = (stop_reason: string, output: number): string =>
  event({ type: 'content_block_stop', index: 0 }) +
  event({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: output } }) +
  event({ type: 'message_stop' });

const PAUSED = begin(10) + text('Searching.') + end('pause_turn', 5);
const COMPLETED = begin(20) + text('Found it.') + end('end_turn', 7);

const respondStream =
  (body: string, { isOpen = false } = {}): ProviderStep =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(body);
    if (!isOpen) response.end();
  };
const hang: ProviderStep = () => {};
const fail500 = respondJson(500, { type: 'error', error: { type: 'api_error', message: 'no' } });
const wholeBody = (stop_reason: string, value: string, usage: object): object => ({
  id: 'msg',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: value }],
  stop_reason,
  usage,
});

/** A responses client on a messages group with two accounts, tried in the order a, b. */
function openCall({ stream = true, isTurn = false } = {}) {
  const accounts = ['a', 'b'].map((id) => accountAt(provider.url, id, 'messages'));
  const failover = openFailoverServices('messages', accounts);
  const clock = new FakeClock();
  const sealer = createSealer([['k1', 'test-master-key-'.repeat(3)]]);
  const services: ConvertedServices = {
    ...failover,
    billing: {} as Billing,
    bodyLimit: () => 1_000_000,
    clientStreams: new ClientStreams(clock, { heartbeatMs: 15_000, stalledMs: 60_000 }),
    store: new ResponseStore({ db: undefined as never, sealer, clock, log: failover.log, days: 0 }),
    opaqueCache: new OpaqueCache(clock),
    rejectedOpaques: new RejectedOpaques(clock),
    rejectedOptions: new RejectedOptions(),
    threads: new ThreadPool({ clock }),
    mediaFetcher: { fetch: async () => ({ ok: false, message: 'not in this test' }) },
    accountTag: (id) => `tag-${id}`,
    opaqueKey: Buffer.alloc(32),
    backgroundRuns: { start: async () => assert.fail('no background call') },
  };
  const client = new RecordingClient({ isTurn });
  const call = callFor(client);
  const admission = new RecordingAdmission();
  const pair = pairOf({ client: 'responses', upstream: 'messages' });
  const request = pair.client.decodeRequest({ model: MODEL.name, input: 'Hello', stream }, { headers: {} });
  const replyContext = { request, model: MODEL.name, requestId: call.id, issuer: 'messages' as const, created: 0 };
  const caller = callerOf('messages');
  const converted = new ConvertedCall({
    services,
    call,
    caller,
    operation: 'responses.create',
    size: 0,
    pair,
    accounts,
    request,
    input: '[]',
    model: MODEL,
    inputTokens: () => 100,
    admission,
    replyContext,
    sign: () => 'signed',
  });
  return { client, admission, services, run: () => converted.run(request), lines: failover.lines };
}

const tokens = ({ charges }: RecordingAdmission): unknown[] =>
  charges.map(({ usage, accountId }) => [usage.input, usage.output, usage.estimated === true, accountId]);

/** Types of the events that the client received, in order. */
const typesIn = (sse: string): string[] => [...sse.matchAll(/^event: (.+)$/gm)].map((match) => match[1] ?? '');

test('converted call merges the rounds of a paused reply into one stream and charges them together', async () => {
  provider.script(respondStream(PAUSED), respondStream(COMPLETED));
  const { client, admission, run } = openCall();
  await run();
  await until('the end', () => client.writableEnded);
  assert.equal(client.heads.length, 1, 'one response head');
  const types = typesIn(client.text);
  assert.equal(types.filter((type) => type === 'response.created').length, 1);
  assert.equal(types.at(-1), 'response.completed');
  assert.match(client.text, /Searching\..*Found it\./s);
  assert.deepEqual(tokens(admission), [[30, 12, false, 'a']]);
  const { messages } = provider.bodies[1] as { messages: unknown[] };
  assert.equal(messages.length, 2, 'the second round carries the output of the first');
});

test('converted call charges the reported input and an estimate when the client disconnects in the middle of a round', async () => {
  provider.script(respondStream(begin(10) + text('x'.repeat(40)), { isOpen: true }));
  const { client, admission, run } = openCall();
  const running = run();
  await once(client, 'received');
  client.destroy();
  await running;
  assert.deepEqual(tokens(admission), [[10, estimateTokens('x'.repeat(40)), true, 'a']], 'the reported input');
});

test('converted call charges the completed rounds and the input of the next when the client disconnects before its response', async () => {
  provider.script(respondStream(PAUSED), hang);
  const { client, admission, run } = openCall();
  const running = run();
  await until('the second round', () => provider.calls.length === 2);
  client.destroy();
  await running;
  assert.deepEqual(tokens(admission), [[110, 5, true, 'a']]);
});

test('converted call adds an estimate of the open round to the completed ones', async () => {
  provider.script(respondStream(PAUSED), respondStream(begin(20) + text('y'.repeat(20)), { isOpen: true }));
  const { client, admission, run } = openCall();
  const running = run();
  await until('the second round', () => client.text.includes('yyyy'));
  client.destroy();
  await running;
  assert.deepEqual(tokens(admission), [[30, 5 + estimateTokens('y'.repeat(20)), true, 'a']]);
});

test('converted call ends a begun stream with an error event and charges only the completed rounds', async () => {
  provider.script(respondStream(PAUSED), fail500, fail500);
  const { client, admission, run } = openCall();
  await run();
  assert.equal(client.writableEnded, true);
  assert.equal(typesIn(client.text).at(-1), 'response.failed');
  assert.deepEqual(tokens(admission), [[10, 5, false, 'a']]);
});

test('converted call rejects without a charge when a later round fails before the client received anything', async () => {
  provider.script(
    respondJson(200, wholeBody('pause_turn', 'One.', { input_tokens: 10, output_tokens: 5 })),
    fail500,
    fail500,
  );
  const { client, admission, run } = openCall({ stream: false });
  await assert.rejects(run(), (error) => error instanceof ApiError && error.code === 'upstream_error');
  assert.equal(client.headersSent, false);
  assert.deepEqual(admission.charges, []);
});

test('converted call fails over before the response head and does not charge the failed attempt', async () => {
  const overloaded = event({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } });
  provider.script(respondStream(overloaded), respondStream(COMPLETED));
  const { client, admission, run } = openCall();
  await run();
  await until('the end', () => client.writableEnded);
  assert.deepEqual(provider.calls, ['a', 'b']);
  assert.deepEqual(tokens(admission), [[20, 7, false, 'b']]);
});

test('converted call does not charge a failed attempt when the client disconnects during the next one', async () => {
  provider.script(respondStream(''), hang);
  const { client, admission, run } = openCall();
  const running = run();
  await until('the second account', () => provider.calls.length === 2);
  client.destroy();
  await running;
  assert.deepEqual(tokens(admission), [[100, 0, true, 'b']], 'the input of the next one');
});

test('converted call does not fail over after the response head; the client gets an error event', async () => {
  provider.script(respondStream(begin(10) + text('half')), respondStream(COMPLETED));
  const { client, admission, run } = openCall();
  await run();
  await until('the end', () => client.writableEnded);
  assert.deepEqual(provider.calls, ['a']);
  assert.equal(typesIn(client.text).at(-1), 'response.failed');
  assert.deepEqual(admission.charges, []);
});

test('converted call continues a begun stream with a round that arrives as one body', async () => {
  const last = wholeBody('end_turn', 'Found it.', { input_tokens: 20, output_tokens: 7 });
  provider.script(respondStream(PAUSED), respondJson(200, last));
  const { client, admission, run } = openCall();
  await run();
  await until('the end', () => client.writableEnded);
  assert.equal(client.heads.length, 1);
  assert.equal(typesIn(client.text).at(-1), 'response.completed');
  assert.deepEqual(tokens(admission), [[30, 12, false, 'a']]);
});

test('converted call estimates a round without reported usage and adds it to the reported ones', async () => {
  provider.script(
    respondJson(200, wholeBody('pause_turn', 'One.', { input_tokens: 10, output_tokens: 5 })),
    respondJson(200, { ...wholeBody('end_turn', 'x'.repeat(40), {}), usage: undefined }),
  );
  const { client, admission, run } = openCall({ stream: false });
  await run();
  await until('the end', () => client.writableEnded);
  assert.deepEqual(tokens(admission), [[110, 5 + estimateTokens('x'.repeat(40)), true, 'a']]);
});

test('converted call gives a WebSocket turn events as JSON, and no server-sent events', async () => {
  provider.script(respondStream(COMPLETED));
  const { client, run } = openCall({ isTurn: true });
  await run();
  await until('the end', () => client.writableEnded);
  assert.equal(client.text, '');
  const types = client.events.map((json) => (JSON.parse(json) as { type: string }).type);
  assert.deepEqual([types[0], types.at(-1)], ['response.created', 'response.completed']);
});

test('converted call stores the final response as the client received it', async () => {
  provider.script(respondStream(COMPLETED));
  const { client, services, run } = openCall();
  await run();
  await until('the end', () => client.writableEnded);
  const lastData = client.text.slice(client.text.lastIndexOf('data: ') + 6);
  const { response } = JSON.parse(lastData) as { response: { id: string } };
  assert.deepEqual((await services.store.content(response.id, 'ana'))?.response, response);
});
