import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sim, startSim } from '../../../sim/index.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { until } from '../../../test/support/wait.ts';
import type { Account } from '../../catalog/index.ts';
import { type ApiError, type Clock, estimateTokens, fail, silentLog, systemClock } from '../../core/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import { type Call, CallTrace, type WebSocketConnection } from '../../platform/web/index.ts';
import type { FaultKind } from '../../rules/index.ts';
import type { Admission } from '../billing/admission.ts';
import { ReadOn } from '../read-on.ts';
import { type LifecycleEvent, parseLifecycleEvent } from './lifecycle.ts';
import { RelayedTurn } from './relayed-turn.ts';
import { type Turn, TurnResponse } from './turn.ts';
import { UpstreamSession } from './upstream-session.ts';

let sim: Sim;
before(async () => {
  sim = await startSim();
});
after(() => sim.close());

/** A turn that records its charges and its end. */
function taskOf(text: string, lane = '') {
  const charged: Partial<HubUsage>[] = [];
  const ends: boolean[] = [];
  const failed: unknown[] = [];
  const replyModels: unknown[] = [];
  const admission: Admission = {
    settle: (usage, { replyModel }) => {
      charged.push(usage);
      if (replyModel !== undefined) replyModels.push(replyModel);
    },
    bookFailed: (usage, { fault }) => void failed.push([usage.input, usage.output, fault]),
    release: () => {},
    flushed: () => Promise.resolve(),
  };
  const response = new TurnResponse({
    onEvent: () => true,
    onRejected: () => {},
    onEnd: (whole) => void ends.push(whole),
  });
  const memory = { add: () => {}, release: () => {} };
  const turn: Turn = { lane, streamId: undefined, create: {}, text, values: 0, memory, response: response };
  const notes: Record<string, unknown> = {};
  const call = {
    logFields: notes,
    addLogFields: (fields: object) => void Object.assign(notes, fields),
    trace: new CallTrace(),
    elapsedMs: () => 0,
  } as unknown as Call;
  return {
    task: { call, turn, admission, text, inputTokens: () => 10 },
    charged,
    failed,
    replyModels,
    ends,
    answer: response,
    call,
  };
}

const ACCOUNT = { id: 'a', models: new Map<string, string>() };
const usage = (n: number) => ({ input_tokens: n, output_tokens: n });
const event = (type: string, more: Partial<LifecycleEvent> = {}): LifecycleEvent => ({ type, ...more });
const ended = (n: number) => event('response.completed', { response: { id: 'r', usage: usage(n) } });

test('relayed turn ends with its response or an error, and not before every steering is resolved', () => {
  const rows: [string, (turn: RelayedTurn) => void, LifecycleEvent[], boolean[]][] = [
    ['plain', () => {}, [event('response.created'), ended(1)], [false, true]],
    ['an error', () => {}, [event('error', { status: 400 })], [true]],
    ['steering refused', (turn) => turn.onSteerSent(), [event('response.steer.failed'), ended(1)], [false, true]],
    ['steering unknown', (turn) => turn.onSteerSent(), [event('error'), ended(1)], [false, true]],
    ['refused after the end', (turn) => turn.onSteerSent(), [ended(1), event('response.steer.failed')], [false, true]],
    [
      'a successor',
      (turn) => turn.onSteerSent(),
      [event('response.steer.accepted'), ended(1), event('response.created'), ended(2)],
      [false, false, false, true],
    ],
    [
      'accepted but not committed',
      (turn) => turn.onSteerSent(),
      [event('response.steer.accepted'), ended(1), event('response.steer.failed', { steer: { id: 's' } })],
      [false, false, true],
    ],
    [
      'waits for tools of the client',
      (turn) => turn.onSteerSent(),
      [event('response.steer.accepted'), ended(1), event('response.steer.pending')],
      [false, false, true],
    ],
  ];
  for (const [name, prepare, events, over] of rows) {
    const turn = new RelayedTurn(taskOf('{}').task, ACCOUNT);
    prepare(turn);
    assert.deepEqual(
      events.map((event) => turn.onEvent(event)),
      over,
      name,
    );
  }
});

test('relayed turn sums usage over responses, estimates a missing one, and charges once', async () => {
  const { task, charged, call, answer: response } = taskOf('x'.repeat(40));
  const turn = new RelayedTurn(task, ACCOUNT);
  turn.onEvent(ended(3));
  turn.onEvent(event('response.created'));
  turn.onEvent(ended(4));
  turn.settle();
  await turn.ended;
  assert.deepEqual([charged.length, charged[0]?.input, charged[0]?.output], [1, 7, 7]);
  assert.equal(call.logFields.tokensOut, 7);
  assert.equal(response.statusCode, 200);
  const silent = taskOf('x'.repeat(40));
  const left = new RelayedTurn(silent.task, ACCOUNT);
  const words = '你好，世界 "quoted" and \n more ';
  for (let n = 0; n < 4; n += 1) left.onOutput(JSON.stringify({ type: 'response.output_text.delta', delta: words }));
  left.abandon();
  const [{ input, output, estimated } = {}] = silent.charged;
  assert.deepEqual([input, output, estimated], [10, estimateTokens(words.repeat(4)), true]);
});

test('relayed turn costs its caller nothing when its response failed, and the operator what was reported', async () => {
  const { task, charged, failed } = taskOf('x');
  const turn = new RelayedTurn(task, ACCOUNT);
  turn.onEvent(event('response.failed', { response: { id: 'r', usage: usage(9) } }));
  turn.settle();
  await turn.ended;
  assert.deepEqual(charged, []);
  assert.deepEqual(failed, [[9, 9, 'failed']]);
  const cut = taskOf('x');
  const other = new RelayedTurn(cut.task, ACCOUNT);
  other.onEvent(event('response.created', { response: { id: 'r' } }));
  other.onOutput(JSON.stringify({ type: 'response.output_text.delta', delta: 'some words' }));
  other.fail('failed', fail('upstream_error'));
  await assert.rejects(other.ended);
  assert.deepEqual(cut.charged, []);
  assert.deepEqual(cut.failed, [[10, estimateTokens('some words'), 'failed']]);
});

test('relayed turn tells which model its response names', async () => {
  const { task, replyModels } = taskOf('x');
  const turn = new RelayedTurn(task, ACCOUNT);
  turn.onEvent(event('response.created', { response: { id: 'r', model: 'another' } }));
  turn.onEvent(ended(3));
  turn.settle();
  await turn.ended;
  assert.deepEqual(replyModels, ['another']);
});

test('relayed turn charges the searches of its output', async () => {
  const { task, charged } = taskOf('x');
  const turn = new RelayedTurn(task, ACCOUNT);
  const output = [{ type: 'web_search_call' }, { type: 'message' }, { type: 'web_search_call' }];
  turn.onEvent(event('response.completed', { response: { id: 'r', usage: usage(9), output } }));
  turn.settle();
  await turn.ended;
  assert.equal(charged[0]?.searches, 2);
});

test('relayed turn charges the tokens of the image tool', async () => {
  const { task, charged } = taskOf('x');
  const turn = new RelayedTurn(task, ACCOUNT);
  const image_gen = { input_tokens: 60, input_tokens_details: { image_tokens: 50 }, output_tokens: 1056 };
  turn.onEvent(event('response.completed', { response: { id: 'r', usage: usage(3), tool_usage: { image_gen } } }));
  turn.settle();
  await turn.ended;
  const [{ input, output, inputImage, outputImage } = {}] = charged;
  assert.deepEqual(
    { input, output, inputImage, outputImage },
    { input: 63, output: 1059, inputImage: 50, outputImage: 1056 },
  );
});

test('lifecycle parser ignores text that only looks like an event', () => {
  const quoted = JSON.stringify({ type: 'response.output_text.delta', delta: '{"type":"response.completed"}' });
  assert.equal(parseLifecycleEvent(quoted), undefined);
  assert.equal(parseLifecycleEvent('{"type": "response.completed", "response": '), undefined);
  assert.equal(parseLifecycleEvent('{"sequence_number":1, "type" : "response.completed"}')?.type, 'response.completed');
});

function lineTo(clock: Clock) {
  const released: (FaultKind | undefined)[] = [];
  const sent: string[] = [];
  const account = { id: 'a', baseUrl: `${sim.url}/v1`, credential: 'sk-secret-of-ours' } as Account;
  const client: WebSocketConnection = {
    send: (text) => {
      sent.push(text);
      return true;
    },
    close: () => {},
    onMessage: () => {},
    onDrain: () => {},
    onClose: () => {},
  };
  let isSpent = false;
  const line = new UpstreamSession(
    { account, answered: () => {}, release: (fault) => void released.push(fault?.kind) },
    client,
    {
      clock,
      log: silentLog,
      readOn: new ReadOn(clock, 5_000),
      onStored: () => {},
      onRejected: () => {},
      onClosing: () => {
        isSpent = true;
      },
    },
  );
  const open = (path = '/v1/responses') =>
    line.open({ origin: sim.url, path, headers: ['authorization', `Bearer ${account.credential}`] });
  return { line, open, released, sent, isSpent: () => isSpent };
}

test('upstream session fails a turn after the idle timeout', async () => {
  const clock = new FakeClock();
  const { line, open, released, isSpent } = lineTo(clock);
  assert.equal(await open(), true);
  const { task } = taskOf('{"type":"response.create","model":"demo@hang","input":"x"}');
  const over = line.run(task);
  clock.advance(299_000);
  assert.equal(isSpent(), false);
  clock.advance(2_000);
  await assert.rejects(over, (error: ApiError) => error.code === 'upstream_timeout');
  assert.equal(isSpent(), true);
  assert.equal(released[0], 'timeout');
});

test('upstream session releases its account when the upgrade is rejected', async () => {
  const { open, released, isSpent } = lineTo(new FakeClock());
  assert.equal(await open('/v1/nothing'), false);
  assert.equal(isSpent(), true);
  assert.deepEqual(released.slice(0, 1), [undefined]);
});

test('relayed turn costs its input from its frame on, unless the server stops before a response', async () => {
  for (const [isInterrupted, expected] of [
    [false, [{ input: 10, output: 0 }]],
    [true, []],
  ] as const) {
    const { line, open } = lineTo(systemClock);
    await open();
    const { task, charged } = taskOf('{"type":"response.create","model":"demo@hang","input":"x"}');
    const left = line.run({ ...task, call: Object.assign(task.call, { isInterrupted }) });
    line.leave();
    await left;
    assert.deepEqual(
      charged.map(({ input, output }) => ({ input, output })),
      expected,
    );
  }
});

test('upstream session reads on for the report of a turn in its text whose client is gone', async () => {
  const { line, open, sent } = lineTo(systemClock);
  await open();
  const { task, charged } = taskOf('{"type":"response.create","model":"demo@gap=5","input":"x"}');
  const over = line.run(task);
  await until('some text', () => sent.some((text) => text.includes('output_text.delta')));
  line.leave();
  await over;
  assert.deepEqual([charged.length, charged[0]?.estimated ?? false], [1, false]);
});

test('upstream session reads on for the report of a finished turn whose client is gone, and for little more content', async () => {
  const { line, open, sent } = lineTo(systemClock);
  await open();
  const finished = taskOf('{"type":"response.create","model":"demo@gap=20","input":"x"}');
  const over = line.run(finished.task);
  await until('the end of the text', () => sent.some((text) => text.includes('response.output_item.done')));
  line.leave();
  const before = sent.length;
  await over;
  assert.deepEqual([finished.charged.length, finished.charged[0]?.estimated ?? false], [1, false]);
  assert.equal(sent.length, before, 'nothing is sent to the client');

  const other = lineTo(systemClock);
  await other.open();
  const running = taskOf('{"type":"response.create","model":"demo@events=1000;gap=20","input":"x"}');
  const left = other.line.run(running.task);
  await until('some text', () => other.sent.some((text) => text.includes('output_text.delta')));
  other.line.leave();
  await left;
  assert.deepEqual([running.charged.length, running.charged[0]?.estimated], [1, true]);
});

const LOST = fail('upstream_error', 'lost');
const ENDS_AFTER_LEAVING: Readonly<Record<string, (turn: RelayedTurn) => void>> = {
  'the connection is lost': (turn) => turn.fail('failed', LOST),
  'the provider is too slow': (turn) => turn.fail('timeout', LOST),
  'an error event': (turn) => void (turn.onEvent(event('error', { status: 500 })) && turn.settle()),
  'a failed response': (turn) =>
    void (turn.onEvent(event('response.failed', { response: { id: 'r' } })) && turn.settle()),
};
for (const [name, end] of Object.entries(ENDS_AFTER_LEAVING))
  test(`relayed turn whose client left in its text is charged an estimate, as over HTTP, when it ends by ${name}`, async () => {
    const { task, charged } = taskOf('{}');
    const turn = new RelayedTurn(task, ACCOUNT);
    turn.onEvent(event('response.created', { response: { id: 'r' } }));
    turn.onOutput(
      '{"type":"response.output_text.delta","delta":"twelve words of text that the client has read before it left us"}',
    );
    turn.onClientLeft();
    end(turn);
    await turn.ended;
    const [usage, ...more] = charged;
    assert.deepEqual([usage?.input, usage?.estimated, more.length], [10, true, 0]);
    assert.ok((usage?.output ?? 0) > 5, `${usage?.output} tokens`);
  });

test('upstream session charges a turn whose client left in its text when the provider closes the connection meanwhile', async () => {
  const { line, open, sent } = lineTo(systemClock);
  await open();
  const { task, charged } = taskOf('{"type":"response.create","model":"demo@reset_mid;gap=100","input":"x"}');
  const over = line.run(task);
  await until('some text', () => sent.some((text) => text.includes('output_text.delta')));
  line.leave();
  await over;
  assert.deepEqual([charged.length, charged[0]?.estimated], [1, true]);
});

test('upstream session passes the end of a response once, and charges each turn its own, when the provider repeats it', async () => {
  const { line, open, sent } = lineTo(systemClock);
  await open();
  const model = 'demo@manners=responses_two_ends;seed=1';
  const turns = ['one', 'two words'].map((input) => taskOf(JSON.stringify({ type: 'response.create', model, input })));
  for (const { task } of turns) await line.run(task);
  await until('the frames of the second turn', () => sent.filter((text) => text.includes('"completed"')).length >= 2);
  const ends = sent.map((text) => JSON.parse(text)).filter(({ type }) => type === 'response.completed');
  assert.deepEqual(
    ends.map(({ response }) => response.input ?? response.output[0]?.content[0]?.text.match(/"(.*)"/)?.[1]),
    ['one', 'two words'],
  );
  assert.deepEqual(
    turns.map(({ charged }) => charged.length),
    [1, 1],
  );
  line.close();
});

test('upstream session that drains finishes its turns and then closes', async () => {
  const { line, open, sent } = lineTo(new FakeClock());
  await open();
  const { task, ends } = taskOf('{"type":"response.create","model":"demo@gap=1","input":"x"}');
  const over = line.run(task);
  line.drain();
  await over;
  assert.deepEqual(ends, [true]);
  assert.match(sent.at(-1) ?? '', /response\.completed/);
  await sim.journal.waitFor((entry) => entry.status === 101 && entry.finished);
});
