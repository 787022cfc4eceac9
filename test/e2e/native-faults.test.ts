import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test';
import { setTimeout as silence } from 'node:timers/promises';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type Sim, startSim } from '../../sim/index.ts';
import { readSse } from '../../src/core/index.ts';
import {
  DIALECTS,
  type Dialect,
  type ErrorFormat,
  TIMEOUTS,
  type Timeouts,
  type TimeoutsName,
} from '../../src/rules/index.ts';
import { type Canned, sayJson, startCanned } from '../support/canned.ts';
import { codeIn } from '../support/envelope.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, google, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const HEARTBEAT_MS = 100;
/** Nobody waits minutes for a timeout here. */
const patience: Record<TimeoutsName, Mutable<Timeouts>> = TIMEOUTS;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

let sim: Sim;
let canned: Canned;
let gateway: TestGateway;

before(async () => {
  sim = await startSim();
  canned = await startCanned();
  gateway = await startGateway({ env: { HEARTBEAT_MS: String(HEARTBEAT_MS) } });
});
after(async () => {
  await gateway?.stop();
  await sim?.close();
  await canned?.close();
});
beforeEach(() => sim.journal.clear());

interface Way {
  readonly style: string;
  readonly envelope: ErrorFormat;
  /** The status of "nobody can take this now". */
  readonly overloaded: number;
  path(model: string, stream: boolean): string;
  body(model: string, stream: boolean): object;
}

const WAYS: Readonly<Record<Dialect, Way>> = {
  messages: {
    style: 'messages',
    envelope: 'messages',
    overloaded: 529,
    path: () => '/v1/messages',
    body: (model, stream) => ({ model, stream, max_tokens: 1000, messages: [{ role: 'user', content: 'hello' }] }),
  },
  chat: {
    style: 'responses',
    envelope: 'openai',
    overloaded: 503,
    path: () => '/v1/chat/completions',
    body: (model, stream) => ({ model, stream, messages: [{ role: 'user', content: 'hello' }] }),
  },
  responses: {
    style: 'responses',
    envelope: 'openai',
    overloaded: 503,
    path: () => '/v1/responses',
    body: (model, stream) => ({ model, stream, input: 'hello' }),
  },
  generate: {
    style: 'generate-content',
    envelope: 'generate',
    overloaded: 503,
    path: (model, stream) =>
      `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: () => ({ contents: [{ role: 'user', parts: [{ text: 'hello' }] }] }),
  },
};

interface AccountGiven {
  readonly base_url?: string;
  readonly api_key?: string;
  readonly weight?: number;
  readonly priority?: number;
  readonly max_concurrency?: number;
}

interface Team {
  readonly key: string;
  readonly way: Way;
  /** Credentials of the accounts that were asked, in order. */
  used(): string[];
  ask(model?: string, options?: { stream?: boolean; signal?: AbortSignal }): Promise<Response>;
}

let teams = 0;

/** A group of its own, so that no account rests because of another test. Accounts are a, b, c..., used in that order. */
async function team(dialect: Dialect, accounts: readonly AccountGiven[] = [{}, {}]): Promise<Team> {
  teams += 1;
  const group = `g${teams}`;
  const way = WAYS[dialect];
  const letter = (n: number): string => String.fromCharCode(97 + n);
  const keys = await gateway.apply({
    groups: [{ id: group, style: way.style }],
    accounts: accounts.map((given, n) => ({
      id: `${group}-${letter(n)}`,
      group,
      base_url: sim.url + (way.style === 'responses' ? '/v1' : ''),
      api_key: `key-of-${letter(n)}`,
      priority: n,
      ...given,
    })),
    models: [{ id: '*', groups: [group] }],
    users: [{ id: 'ana' }],
    keys: [{ user: 'ana', group }],
  });
  const key = keys[group] ?? assert.fail('no key');
  return {
    key,
    way,
    used: () =>
      sim.journal.requests.map(({ headers }) =>
        (headers['x-api-key'] ?? headers['x-goog-api-key'] ?? headers.authorization ?? '').replace(
          /^(?:Bearer )?(?:key-of-)?/,
          '',
        ),
      ),
    ask: (model = 'demo-x', { stream = false, signal } = {}) =>
      fetch(gateway.url + way.path(model, stream), {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(way.body(model, stream)),
        ...(signal && { signal }),
      }),
  };
}

interface SseEvent {
  readonly event: string | undefined;
  readonly data: string;
}

function eventsOf(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  readSse((data, event) => void events.push({ event, data })).feed(Buffer.from(text));
  return events;
}

async function assertCode(answer: Response, { way }: Team, status: number, code: string): Promise<string> {
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  assert.equal(codeIn(way.envelope, status, JSON.parse(text)), code);
  return text;
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : assert.fail();
}

// ---------------------------------------------------------------- before the first byte

const ELSEWHERE = ['reset', 'garbage', 'html', 'eof_mid', 'reset_mid', 'bad_key'].concat(
  [401, 402, 403, 404, 429, 500, 502, 503, 529].map((status) => `status=${status}`),
);

for (const dialect of DIALECTS) {
  describe(`${dialect}: another account`, () => {
    for (const fault of ELSEWHERE) {
      test(`is tried after ${fault}`, async () => {
        const { ask, used } = await team(dialect);
        sim.next(fault);
        const answer = await ask();
        assert.equal(answer.status, 200);
        assert.match(await answer.text(), /simulated answer/);
        assert.deepEqual(used(), ['a', 'b']);
      });
    }

    test('is tried for a stream too', async () => {
      const { ask, used } = await team(dialect);
      sim.next('status=503');
      assert.match(await (await ask('demo-x', { stream: true })).text(), /simulated/);
      assert.deepEqual(used(), ['a', 'b']);
    });

    test('is tried when no connection can be made', async () => {
      const nowhere = `http://127.0.0.1:${await closedPort()}`;
      const { ask, used } = await team(dialect, [{ base_url: nowhere }, {}]);
      assert.equal((await ask()).status, 200);
      assert.deepEqual(used(), ['b']);
      const alone = await team(dialect, [{ base_url: nowhere }]);
      const text = await assertCode(await alone.ask(), alone, 502, 'upstream_error');
      assert.ok(!text.includes('127.0.0.1'), 'our upstream is not named');
    });

    for (const [credential, about] of [
      ['sk-bad', 'whose key is refused'],
      ['sk-forbidden', 'that may not do this'],
      ['sk-broke', 'without money'],
    ] as const) {
      // The simulated 403 of this style is about the country, and so about the model: the account stays in use.
      const rests = credential !== 'sk-forbidden' || WAYS[dialect].style !== 'responses';
      test(`stands in for one ${about}, which then ${rests ? 'rests' : 'is asked again'}`, async () => {
        const { ask, used } = await team(dialect, [{ api_key: credential }, {}]);
        for (let n = 0; n < 2; n++) assert.equal((await ask()).status, 200);
        assert.deepEqual(used(), rests ? [credential, 'b', 'b'] : [credential, 'b', credential, 'b']);
      });
    }

    test('is the third at most', async () => {
      const all = await team(dialect, [{}, {}, {}, {}]);
      await assertCode(await all.ask('demo-x@status=500'), all, 502, 'upstream_error');
      assert.deepEqual(all.used(), ['a', 'b', 'c']);
    });

    test('is not tried when the request itself is wrong, and the words of the provider pass', async () => {
      for (const fault of ['status=400', 'status=413', 'status=422', 'context_too_long']) {
        sim.journal.clear();
        const { ask, used, way } = await team(dialect);
        const model = `demo-x@${fault}`;
        const answer = await ask(model);
        const direct = await fetch(sim.url + way.path(model, false), {
          method: 'POST',
          headers: { authorization: 'Bearer key-of-a' },
          body: JSON.stringify(way.body(model, false)),
        });
        assert.equal(answer.status, direct.status, fault);
        const [said, meant] = (await Promise.all([answer.json(), direct.json()])) as { error: object }[];
        assert.deepEqual(said?.error, meant?.error);
        assert.deepEqual(used(), ['a', 'a'], 'once by us and once directly');
      }
    });

    test('of a refusal nothing is changed but our key and our host', async () => {
      const secret = 'credential-of-the-account';
      const { ask } = await team(dialect, [{ api_key: secret }]);
      const answer = await ask('demo-x@leak');
      assert.equal(answer.status, 400);
      const text = await answer.text();
      assert.match(text, /Request to \[redacted\]\S* with key \[redacted\] failed\./);
      assert.ok(!text.includes(secret) && !text.includes('127.0.0.1') && !text.includes(String(sim.port)), text);
    });
  });

  describe(`${dialect}: when nobody is left`, () => {
    test('a page of HTML becomes an error of the dialect', async () => {
      const all = await team(dialect);
      assert.ok(!(await assertCode(await all.ask('demo-x@html'), all, 502, 'upstream_error')).includes('<'));
      const refused = await (await team(dialect)).ask('demo-x@html;status=400');
      const text = await refused.text();
      codeIn(WAYS[dialect].envelope, refused.status, JSON.parse(text));
      assert.ok(!text.includes('<'));
    });

    for (const credential of ['sk-bad', 'sk-broke'])
      test(`the trouble of our account (${credential}) reads as overload, now and while it rests`, async () => {
        const all = await team(dialect, [{ api_key: credential }]);
        for (let n = 0; n < 2; n++) {
          const answer = await all.ask();
          assert.ok(Number(answer.headers.get('retry-after')) >= 1);
          const text = await assertCode(answer, all, all.way.overloaded, 'server_is_overloaded');
          assert.doesNotMatch(text, /key|quota|billing|credit|organization/i);
        }
        assert.deepEqual(all.used(), [credential], 'asked once');
      });

    test('a rate limit is told with the time to wait, now and while the accounts rest', async () => {
      const all = await team(dialect);
      for (let n = 0; n < 2; n++) {
        const answer = await all.ask('demo-x@status=429');
        assert.equal(answer.headers.get('retry-after'), '12');
        const text = await assertCode(answer, all, 429, 'rate_limit_exceeded');
        if (dialect === 'generate') assert.ok(text.includes('google.rpc.RetryInfo","retryDelay":"12s"'), text);
      }
      assert.deepEqual(all.used(), ['a', 'b'], 'nobody was asked in vain');
    });

    test('an answer that broke off before anything was passed on is an error, not a cut connection', async () => {
      for (const fault of ['eof_mid', 'reset_mid', 'garbage', 'reset']) {
        const alone = await team(dialect, [{}]);
        await assertCode(await alone.ask(`demo-x@${fault}`), alone, 502, 'upstream_error');
      }
    });

    test('a silent provider is a timeout', async (t) => {
      t.mock.property(patience.unary, 'firstByte', 200);
      t.mock.property(patience.unary, 'idle', 200);
      canned.says(() => {});
      const alone = await team(dialect, [{}]);
      const waiting = await team(dialect, [{}]);
      const backed = await team(dialect, [{ base_url: canned.url }, {}]);
      await Promise.all([
        alone.ask('demo-x@hang').then((answer) => assertCode(answer, alone, 504, 'upstream_timeout')),
        waiting.ask('demo-x@silent_mid').then((answer) => assertCode(answer, waiting, 504, 'upstream_timeout')),
        backed.ask().then((answer) => assert.equal(answer.status, 200)),
      ]);
      assert.deepEqual(backed.used().sort(), ['a', 'a', 'b'], 'the last one by the second account');
    });
  });
}

// ---------------------------------------------------------------- who is asked

describe('of several accounts', () => {
  test('three are tried in the order of their priority', async () => {
    const { ask, used } = await team('messages', [{}, {}, {}]);
    sim.next('status=401');
    sim.next('status=429');
    assert.equal((await ask()).status, 200);
    assert.deepEqual(used(), ['a', 'b', 'c']);
  });

  test('the one of the best priority is used as long as it works', async () => {
    const { ask, used } = await team('messages', [{ priority: 5 }, { priority: -1 }, { priority: 0 }]);
    for (let n = 0; n < 6; n++) await (await ask()).text();
    assert.deepEqual(used(), ['b', 'b', 'b', 'b', 'b', 'b']);
  });

  test('equals share, and one without weight only stands in', async () => {
    const { ask, used } = await team('messages', [
      { weight: 0, priority: 0 },
      { weight: 1, priority: 0 },
      { weight: 1, priority: 0 },
    ]);
    for (let n = 0; n < 40; n++) await (await ask()).text();
    assert.deepEqual(new Set(used()), new Set(['b', 'c']));
    for (const fault of ['status=401', 'status=401']) sim.next(fault);
    assert.equal((await ask()).status, 200);
    assert.equal(used().at(-1), 'a');
  });

  test('none takes more calls at once than it may', async () => {
    const full = await team('messages', [{ max_concurrency: 2 }]);
    const open = await Promise.all([1, 2].map(() => full.ask('demo-x@silent_mid', { stream: true })));
    const refused = await full.ask();
    assert.equal(refused.headers.get('retry-after'), '1');
    await assertCode(refused, full, 529, 'server_is_overloaded');
    assert.deepEqual(full.used(), ['a', 'a']);
    await open[0]?.body?.cancel();
    await sim.journal.waitFor((entry) => entry.aborted);
    assert.equal((await full.ask()).status, 200);
    await open[1]?.body?.cancel();
  });

  test('a full one sends its calls to the next', async () => {
    const { ask, used } = await team('chat', [{ max_concurrency: 1 }, {}]);
    const open = await ask('demo-x@silent_mid', { stream: true });
    assert.equal((await ask()).status, 200);
    assert.deepEqual(used(), ['a', 'b']);
    await open.body?.cancel();
  });

  test('one that rests is left alone though a stream of before ends well', async () => {
    const { ask, used } = await team('messages');
    const open = await ask('demo-x@silent_mid=400', { stream: true });
    sim.next('status=429');
    assert.equal((await ask()).status, 200);
    assert.match(await open.text(), /message_stop/);
    assert.equal((await ask()).status, 200);
    assert.deepEqual(used(), ['a', 'a', 'b', 'b']);
  });
});

// ---------------------------------------------------------------- after the first byte

interface ErrorData {
  readonly type?: string;
  readonly request_id?: string;
  readonly sequence_number?: number;
  readonly response?: { readonly id: string; readonly status: string; readonly error: { readonly code: string } };
  readonly error?: { readonly type?: string; readonly code?: unknown; readonly status?: string };
}

/** What the last event of a stream that broke must be. */
const ENDING: Readonly<Record<Dialect, (last: SseEvent, before: SseEvent[], isTimeout: boolean) => void>> = {
  messages({ event, data }, _before, isTimeout) {
    const told = JSON.parse(data) as ErrorData;
    assert.equal(event, 'error');
    assert.deepEqual([told.type, told.error?.type], ['error', isTimeout ? 'timeout_error' : 'api_error']);
    assert.match(told.request_id ?? '', /^req_/);
  },
  chat({ event, data }, before, isTimeout) {
    assert.equal(event, undefined);
    assert.equal((JSON.parse(data) as ErrorData).error?.code, isTimeout ? 'upstream_timeout' : 'upstream_error');
    assert.ok(before.every((one) => one.data !== '[DONE]'));
  },
  responses({ event, data }, before) {
    const told = JSON.parse(data) as ErrorData;
    assert.deepEqual([event, told.type, told.response?.status], ['response.failed', 'response.failed', 'failed']);
    const numbers = before.map((one) => (JSON.parse(one.data) as ErrorData).sequence_number);
    assert.equal(told.sequence_number, (numbers.at(-1) ?? -1) + 1);
    assert.equal(told.response?.id, (JSON.parse(before[0]?.data ?? '{}') as ErrorData).response?.id);
  },
  generate({ data }, _before, isTimeout) {
    const { error } = JSON.parse(data) as ErrorData;
    assert.deepEqual([error?.code, error?.status], isTimeout ? [504, 'DEADLINE_EXCEEDED'] : [502, 'UNAVAILABLE']);
  },
};

for (const dialect of DIALECTS) {
  describe(`${dialect}: a stream that has begun`, () => {
    const assertBroken = async (fault: string, isTimeout = false): Promise<void> => {
      const { ask, used } = await team(dialect);
      const answer = await ask(`demo-x@${fault}`, { stream: true });
      assert.equal(answer.status, 200);
      const events = eventsOf(await answer.text()).filter(({ event }) => event !== 'ping');
      const last = events.pop() ?? assert.fail('nothing came');
      assert.ok(events.length >= 3, 'what came before is kept');
      ENDING[dialect](last, events, isTimeout);
      assert.deepEqual(used(), ['a'], 'nobody else is asked');
    };

    test('and is reset ends with an error of the dialect', () => assertBroken('reset_mid'));
    test('and just ends ends with an error of the dialect', () => assertBroken('eof_mid=5'));
    test('and falls silent ends with a timeout of the dialect', async (t) => {
      t.mock.property(patience.stream, 'idle', 250);
      await assertBroken('silent_mid', true);
    });

    test('and fails in its own words ends with those', async () => {
      for (const fault of ['error_mid', 'error_first']) {
        sim.journal.clear();
        const { ask, used } = await team(dialect);
        const text = await (await ask(`demo-x@${fault};status=503`, { stream: true })).text();
        assert.equal(text.match(/Overloaded \(simulated\)/g)?.length, 1);
        assert.ok(!text.includes('before completion'));
        assert.deepEqual(used(), ['a']);
      }
    });

    test('and breaks inside an event still ends with an event', async () => {
      canned.says((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"type":"x","response":{"id":"r1"},"sequence_number":4}\n\ndata: {"half', () =>
          response.destroy(),
        );
      });
      const { ask } = await team(dialect, [{ base_url: canned.url }]);
      const events = eventsOf(await (await ask('demo-x', { stream: true })).text());
      assert.deepEqual(
        events.slice(0, 2).map(({ data }) => data.slice(0, 8)),
        ['{"type":', '{"half'],
      );
      assert.match(events[2]?.data ?? '', /before completion/);
      assert.equal(events.length, 3);
    });

    test('and breaks after a comment goes on counting where the provider stopped', async () => {
      canned.says((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': '1000' });
        response.write('data: {"type":"x","response":{"id":"r1"},"sequence_number":4}\n\n');
        response.write(': still here\n\n', () => response.destroy());
      });
      const { ask } = await team(dialect, [{ base_url: canned.url }]);
      const answer = await ask('demo-x', { stream: true });
      assert.equal(answer.headers.get('content-length'), null, 'it gets longer than announced');
      const [first, last] = eventsOf(await answer.text());
      ENDING[dialect](last ?? assert.fail('no ending'), first ? [first] : [], false);
    });

    test('a large answer of one piece that breaks is cut, so that nobody takes it for whole', async () => {
      for (const fault of ['eof_mid', 'reset_mid']) {
        const { ask, used } = await team(dialect);
        const answer = await ask(`demo-x@big=1000000;${fault}`);
        assert.equal(answer.status, 200);
        await assert.rejects(answer.text());
        assert.deepEqual(used(), ['a'], 'nobody else is asked');
        sim.journal.clear();
      }
    });

    test('keeps its client awake while the provider is silent', async () => {
      const { ask } = await team(dialect);
      const text = await (await ask('demo-x@silent_mid=450', { stream: true })).text();
      const beat = dialect === 'messages' ? 'event: ping\ndata: {"type": "ping"}\n\n' : ': hb\n\n';
      const beats = text.split(beat).length - 1;
      assert.ok(beats >= 2 && beats <= 5, `${beats} heartbeats in 450 ms`);
      assert.ok(!text.includes('before completion'));
    });

    test('gets no heartbeat inside an event, nor does an answer of one piece', async () => {
      const { ask } = await team(dialect, [{ base_url: canned.url }]);
      const whole = '{"candidates":[{"finishReason":"STOP"}],"error":{"type":"error"},"type":"error"}';
      canned.says(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"a":1}\n\nevent: error\ndata: ');
        await silence(3 * HEARTBEAT_MS);
        response.end(`${whole}\n\n`);
      });
      const stream = await (await ask('demo-x', { stream: true })).text();
      assert.equal(stream, `data: {"a":1}\n\nevent: error\ndata: ${whole}\n\n`);
      const large = `{"t":"${'x'.repeat(200_000)}"}`;
      canned.says(async (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(large.slice(0, 150_000));
        await silence(3 * HEARTBEAT_MS);
        response.end(large.slice(150_000));
      });
      assert.equal(await (await ask()).text(), large);
    });
  });
}

describe('the SDKs', () => {
  const SAID = 'This is a simulated answer from demo-x@silent_mid=350. You said: "hello".';
  const model = 'demo-x@silent_mid=350';
  const messages = [{ role: 'user' as const, content: 'hello' }];

  test('read a stream with heartbeats to its end', async () => {
    const [claude, chat, responses, generate] = await Promise.all(
      (['messages', 'chat', 'responses', 'generate'] as const).map((dialect) => team(dialect)),
    );
    const texts = await Promise.all([
      anthropic(gateway.url, claude?.key ?? '')
        .messages.stream({ model, max_tokens: 1000, messages })
        .finalText(),
      openai(gateway.url, chat?.key ?? '')
        .chat.completions.stream({ model, messages })
        .finalContent(),
      openai(gateway.url, responses?.key ?? '')
        .responses.stream({ model, input: 'hello' })
        .finalResponse()
        .then((final) => final.output_text),
      google(gateway.url, generate?.key ?? '')
        .models.generateContentStream({ model, contents: 'hello' })
        .then((stream) => Array.fromAsync(stream, (chunk) => chunk.text ?? ''))
        .then((pieces) => pieces.join('')),
    ]);
    for (const text of texts) assert.equal(text?.replace(/from demo-x\S*\./, `from ${model}.`), SAID);
  });

  test('notice a stream that broke', async () => {
    const [claude, chat, responses] = await Promise.all(
      (['messages', 'chat', 'responses'] as const).map((dialect) => team(dialect)),
    );
    const broken = 'demo-x@eof_mid';
    await assert.rejects(
      anthropic(gateway.url, claude?.key ?? '')
        .messages.stream({ model: broken, max_tokens: 1000, messages })
        .finalText(),
      (error) => error instanceof Anthropic.APIError && /before completion/.test(error.message),
    );
    await assert.rejects(
      openai(gateway.url, chat?.key ?? '')
        .chat.completions.stream({ model: broken, messages })
        .finalContent(),
      (error) => error instanceof OpenAI.OpenAIError && /before completion/.test(error.message),
    );
    const final = await openai(gateway.url, responses?.key ?? '')
      .responses.stream({ model: broken, input: 'hello' })
      .finalResponse();
    assert.deepEqual([final.status, final.error?.code], ['failed', 'server_error']);
  });
});

// ---------------------------------------------------------------- the client leaves

describe('a client that leaves', () => {
  const leave = async (t: TestContext, fault: string, stream: boolean, atEvents: number): Promise<void> => {
    const { ask, used } = await team('messages', [{ max_concurrency: 1 }, { max_concurrency: 1 }]);
    const gone = new AbortController();
    const answer = ask(`demo-x@${fault}`, { stream, signal: gone.signal });
    const reading = answer.then((response) => response.text());
    reading.catch(() => {});
    await sim.journal.waitFor((entry) => entry.complete && entry.eventsSent >= atEvents);
    const leftAt = Date.now();
    gone.abort();
    await assert.rejects(reading);
    const { abortedAt = Number.POSITIVE_INFINITY } = await sim.journal.waitFor((entry) => entry.aborted);
    t.diagnostic(`the upstream saw it after ${abortedAt - leftAt} ms`);
    assert.ok(abortedAt - leftAt < 1_000, `${abortedAt - leftAt} ms`);
    sim.journal.clear();
    // Its place is free again, and the account did nothing wrong.
    assert.equal((await ask()).status, 200);
    assert.deepEqual(used(), ['a']);
  };

  test('before the provider answers at all ends the call upstream', (t) => leave(t, 'hang', false, 0));
  test('before the head of a stream ends the call upstream', (t) => leave(t, 'slow=20000', true, 0));
  test('in the middle of a stream ends the call upstream', (t) => leave(t, 'events=100000;gap=5', true, 5));
  test('while a stream is silent ends the call upstream', (t) => leave(t, 'silent_mid', true, 4));
  test('in the middle of an answer of one piece ends the call upstream', (t) => leave(t, 'silent_mid', false, 0));

  test('while a second account is asked pays nothing for what the first one broke off', async () => {
    const { ask, used } = await team('messages');
    sim.next('eof_mid');
    sim.next('hang');
    const gone = new AbortController();
    const answer = ask('demo-x', { signal: gone.signal });
    await sim.journal.waitFor((entry) => entry.complete && used().length === 2);
    gone.abort();
    await assert.rejects(answer);
    await sim.journal.waitFor((entry) => entry.aborted);
    assert.equal((await ask()).status, 200);
    const charged = () =>
      gateway.ground.database.db.selectFrom('usage_records').select('id').where('group_id', '=', `g${teams}`).execute();
    // Records arrive in the order in which they were made.
    await until('the record of the second call', async () => (await charged()).length > 0);
    assert.equal((await charged()).length, 1);
  });
});

test('a list of models that is none is left out, and nobody suffers', async () => {
  const keys = await gateway.apply({
    groups: [{ id: 'listing', style: 'responses' }],
    accounts: [{ id: 'listing-a', group: 'listing', base_url: `${canned.url}/v1`, api_key: 'k' }],
    models: [
      { id: 'named', groups: ['listing'] },
      { id: '*', groups: ['listing'] },
    ],
    users: [{ id: 'lister' }],
    keys: [{ user: 'lister', group: 'listing' }],
  });
  canned.says(sayJson('{"data":[null,{"id":"odd"}],"models":5}'));
  const response = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${keys.listing}` } });
  assert.equal(response.status, 200);
  const { data } = (await response.json()) as { data: { id: string }[] };
  assert.deepEqual(
    data.map(({ id }) => id),
    ['named'],
  );
});
