/** Native calls that fail: failover, cooldown, errors inside a stream, timeouts, heartbeats and client disconnects. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
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
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { errorCode } from '../support/error-body.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { someOf } from '../support/long-test.ts';
import { anthropic, google, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const HEARTBEAT_MS = 100;
/** Mutable, so that tests can shorten them. */
const timeouts: Record<TimeoutsName, Mutable<Timeouts>> = TIMEOUTS;
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

interface Protocol {
  readonly style: string;
  readonly format: ErrorFormat;
  /** The status of "no account is available". */
  readonly overloaded: number;
  path(model: string, stream: boolean): string;
  body(model: string, stream: boolean): object;
}

const PROTOCOLS: Readonly<Record<Dialect, Protocol>> = {
  messages: {
    style: 'messages',
    format: 'messages',
    overloaded: 529,
    path: () => '/v1/messages',
    body: (model, stream) => ({ model, stream, max_tokens: 1000, messages: [{ role: 'user', content: 'hello' }] }),
  },
  chat: {
    style: 'responses',
    format: 'openai',
    overloaded: 503,
    path: () => '/v1/chat/completions',
    body: (model, stream) => ({ model, stream, messages: [{ role: 'user', content: 'hello' }] }),
  },
  responses: {
    style: 'responses',
    format: 'openai',
    overloaded: 503,
    path: () => '/v1/responses',
    body: (model, stream) => ({ model, stream, input: 'hello' }),
  },
  generate: {
    style: 'generate-content',
    format: 'generate',
    overloaded: 503,
    path: (model, stream) =>
      `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: () => ({ contents: [{ role: 'user', parts: [{ text: 'hello' }] }] }),
  },
};

interface AccountSettings {
  readonly base_url?: string;
  readonly api_key?: string;
  readonly weight?: number;
  readonly priority?: number;
  readonly max_concurrency?: number;
}

interface TestGroup {
  readonly key: string;
  readonly protocol: Protocol;
  /** Credentials of the accounts that received a request, in order. */
  used(): string[];
  send(model?: string, options?: { stream?: boolean; signal?: AbortSignal }): Promise<Response>;
}

let groupCount = 0;

/** Creates a group, so that a cooldown does not affect other tests. Its accounts a, b, c... are used in that order. */
async function testGroup(dialect: Dialect, accounts: readonly AccountSettings[] = [{}, {}]): Promise<TestGroup> {
  groupCount += 1;
  const group = `g${groupCount}`;
  const protocol = PROTOCOLS[dialect];
  const letter = (n: number): string => String.fromCharCode(97 + n);
  const keys = await gateway.apply({
    groups: [{ id: group, style: protocol.style }],
    accounts: accounts.map((settings, n) => ({
      id: `${group}-${letter(n)}`,
      group,
      base_url: sim.url + (protocol.style === 'responses' ? '/v1' : ''),
      api_key: `key-of-${letter(n)}`,
      priority: n,
      ...settings,
    })),
    models: [{ id: '*', groups: [group] }],
    users: [{ id: 'ana' }],
    keys: [{ user: 'ana', group }],
  });
  const key = keys[group] ?? assert.fail('no key');
  return {
    key,
    protocol,
    used: () =>
      sim.journal.requests.map(({ headers }) =>
        (headers['x-api-key'] ?? headers['x-goog-api-key'] ?? headers.authorization ?? '').replace(
          /^(?:Bearer )?(?:key-of-)?/,
          '',
        ),
      ),
    send: (model = 'demo-x', { stream = false, signal } = {}) =>
      fetch(gateway.url + protocol.path(model, stream), {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(protocol.body(model, stream)),
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

async function assertCode(response: Response, { protocol }: TestGroup, status: number, code: string): Promise<string> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  assert.equal(errorCode(protocol.format, status, JSON.parse(text)), code);
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

const FAILOVER_FAULTS = ['reset', 'garbage', 'html', 'eof_mid', 'reset_mid', 'bad_key'].concat(
  [401, 402, 403, 404, 429, 500, 502, 503, 529].map((status) => `status=${status}`),
);

for (const dialect of someOf(DIALECTS, 2)) {
  describe(`failover, ${dialect}`, () => {
    for (const fault of someOf(FAILOVER_FAULTS, 5)) {
      test(`G 7 r3: failover after ${fault} (${dialect})`, async () => {
        const { send, used } = await testGroup(dialect);
        sim.next(fault);
        const response = await send();
        assert.equal(response.status, 200);
        assert.match(await response.text(), /simulated answer/);
        // A reset of a connection that was idle before sends the request to the same account again.
        assert.deepEqual(fault === 'reset' ? used().length : used(), fault === 'reset' ? 2 : ['a', 'b']);
      });
    }

    test(`failover for a stream before its first byte (${dialect})`, async () => {
      const { send, used } = await testGroup(dialect);
      sim.next('status=503');
      assert.match(await (await send('demo-x', { stream: true })).text(), /simulated/);
      assert.deepEqual(used(), ['a', 'b']);
    });

    test(`failover when the connection is refused, and 502 without another account (${dialect})`, async () => {
      const nowhere = `http://127.0.0.1:${await closedPort()}`;
      const { send, used } = await testGroup(dialect, [{ base_url: nowhere }, {}]);
      assert.equal((await send()).status, 200);
      assert.deepEqual(used(), ['b']);
      const alone = await testGroup(dialect, [{ base_url: nowhere }]);
      const text = await assertCode(await alone.send(), alone, 502, 'upstream_error');
      assert.ok(!text.includes('127.0.0.1'), 'the upstream address is not shown');
    });

    for (const [credential, about] of [
      ['sk-bad', 'whose key is rejected'],
      ['sk-forbidden', 'without permission'],
      ['sk-broke', 'without credit'],
    ] as const) {
      // A 403 that does not blame the credential may concern one request only, so the account stays in use, unless it names the model.
      const isUsedFirst = credential === 'sk-forbidden' && !['chat', 'responses'].includes(dialect);
      test(`failover from an account ${about}, which is then used ${isUsedFirst ? 'as before' : 'after others or not at all'} (${dialect})`, async () => {
        const { send, used } = await testGroup(dialect, [{ api_key: credential }, {}]);
        for (let n = 0; n < 2; n++) assert.equal((await send()).status, 200);
        assert.deepEqual(used(), isUsedFirst ? [credential, 'b', credential, 'b'] : [credential, 'b', 'b']);
      });
    }

    test(`failover tries at most three accounts (${dialect})`, async () => {
      const all = await testGroup(dialect, [{}, {}, {}, {}]);
      await assertCode(await all.send('demo-x@status=500'), all, 502, 'upstream_error');
      assert.deepEqual(all.used(), ['a', 'b', 'c']);
    });

    test(`no failover when the provider rejects the request, whose error is passed on (${dialect})`, async () => {
      for (const fault of ['status=400', 'status=413', 'status=422', 'context_too_long']) {
        sim.journal.clear();
        const { send, used, protocol } = await testGroup(dialect);
        const model = `demo-x@${fault}`;
        const response = await send(model);
        const direct = await fetch(sim.url + protocol.path(model, false), {
          method: 'POST',
          headers: { authorization: 'Bearer key-of-a' },
          body: JSON.stringify(protocol.body(model, false)),
        });
        assert.equal(response.status, direct.status, fault);
        const [received, expected] = (await Promise.all([response.json(), direct.json()])) as { error: object }[];
        assert.deepEqual(received?.error, expected?.error);
        assert.deepEqual(used(), ['a', 'a'], 'once by the gateway and once directly');
      }
    });

    test(`only credential and host are redacted in a provider error (${dialect})`, async () => {
      const secret = 'credential-of-the-account';
      const { send } = await testGroup(dialect, [{ api_key: secret }]);
      const response = await send('demo-x@leak');
      assert.equal(response.status, 400);
      const text = await response.text();
      assert.match(text, /Request to \[redacted\]\S* with key \[redacted\] failed\./);
      assert.ok(!text.includes(secret) && !text.includes('127.0.0.1') && !text.includes(String(sim.port)), text);
    });
  });

  describe(`all accounts failed, ${dialect}`, () => {
    test(`HTML from the provider becomes an error of the dialect (${dialect})`, async () => {
      const all = await testGroup(dialect);
      assert.ok(!(await assertCode(await all.send('demo-x@html'), all, 502, 'upstream_error')).includes('<'));
      const rejected = await (await testGroup(dialect)).send('demo-x@html;status=400');
      const text = await rejected.text();
      errorCode(PROTOCOLS[dialect].format, rejected.status, JSON.parse(text));
      assert.ok(!text.includes('<'));
    });

    for (const credential of ['sk-bad', 'sk-broke'])
      test(`G 7 r3: an account error (${credential}) is reported as overload, also during the cooldown (${dialect})`, async () => {
        const all = await testGroup(dialect, [{ api_key: credential }]);
        for (let n = 0; n < 3; n++) {
          const response = await all.send();
          assert.ok(Number(response.headers.get('retry-after')) >= 1);
          const text = await assertCode(response, all, all.protocol.overloaded, 'server_is_overloaded');
          assert.doesNotMatch(text, /key|quota|billing|credit|organization/i);
        }
        const believed = credential === 'sk-bad' ? 2 : 1;
        assert.deepEqual(all.used(), Array(believed).fill(credential), 'no further request');
      });

    test(`G 7 r3: a rate limit is reported with retry-after, also during the cooldown (${dialect})`, async () => {
      const all = await testGroup(dialect);
      for (let n = 0; n < 2; n++) {
        const response = await all.send('demo-x@status=429');
        assert.equal(response.headers.get('retry-after'), '12');
        const text = await assertCode(response, all, 429, 'rate_limit_exceeded');
        if (dialect === 'generate') assert.ok(text.includes('google.rpc.RetryInfo","retryDelay":"12s"'), text);
      }
      assert.deepEqual(all.used(), ['a', 'b'], 'no request during the cooldown');
    });

    test(`a response that breaks off before its first byte is forwarded is 502, not a closed connection (${dialect})`, async () => {
      for (const fault of ['eof_mid', 'reset_mid', 'garbage', 'reset']) {
        const alone = await testGroup(dialect, [{}]);
        await assertCode(await alone.send(`demo-x@${fault}`), alone, 502, 'upstream_error');
      }
    });

    test(`G 7 r3: a silent provider is a timeout, after failover (${dialect})`, async (t) => {
      t.mock.property(timeouts.unary, 'firstByte', 500);
      t.mock.property(timeouts.unary, 'idle', 500);
      canned.respondWith(() => {});
      const alone = await testGroup(dialect, [{}]);
      const waiting = await testGroup(dialect, [{}]);
      const backed = await testGroup(dialect, [{ base_url: canned.url }, {}]);
      await Promise.all([
        alone.send('demo-x@hang').then((response) => assertCode(response, alone, 504, 'upstream_timeout')),
        waiting.send('demo-x@silent_mid').then((response) => assertCode(response, waiting, 504, 'upstream_timeout')),
        backed.send().then((response) => assert.equal(response.status, 200)),
      ]);
      assert.deepEqual(backed.used().sort(), ['a', 'a', 'b'], 'failover to the second account');
    });
  });
}

// ---------------------------------------------------------------- selection of an account

describe('account selection', () => {
  test('accounts are tried in the order of their priority', async () => {
    const { send, used } = await testGroup('messages', [{}, {}, {}]);
    sim.next('status=401');
    sim.next('status=429');
    assert.equal((await send()).status, 200);
    assert.deepEqual(used(), ['a', 'b', 'c']);
  });

  test('the account of the best priority is used as long as it works', async () => {
    const { send, used } = await testGroup('messages', [{ priority: 5 }, { priority: -1 }, { priority: 0 }]);
    for (let n = 0; n < 6; n++) await (await send()).text();
    assert.deepEqual(used(), ['b', 'b', 'b', 'b', 'b', 'b']);
  });

  test('accounts of equal priority share calls, and one of weight 0 is used only for failover', async () => {
    const { send, used } = await testGroup('messages', [
      { weight: 0, priority: 0 },
      { weight: 1, priority: 0 },
      { weight: 1, priority: 0 },
    ]);
    for (let n = 0; n < 40; n++) await (await send()).text();
    assert.deepEqual(new Set(used()), new Set(['b', 'c']));
    for (const fault of ['status=401', 'status=401']) sim.next(fault);
    assert.equal((await send()).status, 200);
    assert.equal(used().at(-1), 'a');
  });

  test('max_concurrency of an account is not exceeded, and a client disconnect releases a slot', async () => {
    const full = await testGroup('messages', [{ max_concurrency: 2 }]);
    const open = await Promise.all([1, 2].map(() => full.send('demo-x@silent_mid', { stream: true })));
    const rejected = await full.send();
    assert.equal(rejected.headers.get('retry-after'), '1');
    await assertCode(rejected, full, 529, 'server_is_overloaded');
    assert.deepEqual(full.used(), ['a', 'a']);
    await open[0]?.body?.cancel();
    await until('a free slot', async () => (await full.send()).status === 200);
    await open[1]?.body?.cancel();
  });

  test('an account at its max_concurrency passes calls to the next', async () => {
    const { send, used } = await testGroup('chat', [{ max_concurrency: 1 }, {}]);
    const open = await send('demo-x@silent_mid', { stream: true });
    assert.equal((await send()).status, 200);
    assert.deepEqual(used(), ['a', 'b']);
    await open.body?.cancel();
  });

  test('cooldown of an account continues when an earlier stream of it succeeds', async () => {
    const { send, used } = await testGroup('messages');
    const open = await send('demo-x@silent_mid=400', { stream: true });
    sim.next('status=429');
    assert.equal((await send()).status, 200);
    assert.match(await open.text(), /message_stop/);
    assert.equal((await send()).status, 200);
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

/** Asserts the last event of a broken stream (G 6). */
const ENDING: Readonly<Record<Dialect, (last: SseEvent, before: SseEvent[], isTimeout: boolean) => void>> = {
  messages({ event, data }, _before, isTimeout) {
    const body = JSON.parse(data) as ErrorData;
    assert.equal(event, 'error');
    assert.deepEqual([body.type, body.error?.type], ['error', isTimeout ? 'timeout_error' : 'api_error']);
    assert.match(body.request_id ?? '', /^req_/);
  },
  chat({ event, data }, before, isTimeout) {
    assert.equal(event, undefined);
    assert.equal((JSON.parse(data) as ErrorData).error?.code, isTimeout ? 'upstream_timeout' : 'upstream_error');
    assert.ok(before.every((one) => one.data !== '[DONE]'));
  },
  responses({ event, data }, before) {
    const body = JSON.parse(data) as ErrorData;
    assert.deepEqual([event, body.type, body.response?.status], ['response.failed', 'response.failed', 'failed']);
    const numbers = before.map((one) => (JSON.parse(one.data) as ErrorData).sequence_number);
    assert.equal(body.sequence_number, (numbers.at(-1) ?? -1) + 1);
    assert.equal(body.response?.id, (JSON.parse(before[0]?.data ?? '{}') as ErrorData).response?.id);
  },
  generate({ data }, _before, isTimeout) {
    const { error } = JSON.parse(data) as ErrorData;
    assert.deepEqual([error?.code, error?.status], isTimeout ? [504, 'DEADLINE_EXCEEDED'] : [502, 'UNAVAILABLE']);
  },
};

for (const dialect of someOf(DIALECTS, 2)) {
  describe(`errors after the first byte, ${dialect}`, () => {
    const assertBroken = async (fault: string, isTimeout = false): Promise<void> => {
      const { send, used } = await testGroup(dialect);
      const response = await send(`demo-x@${fault}`, { stream: true });
      assert.equal(response.status, 200);
      const events = eventsOf(await response.text()).filter(({ event }) => event !== 'ping');
      const last = events.pop() ?? assert.fail('no events');
      assert.ok(events.length >= 3, 'earlier events are kept');
      ENDING[dialect](last, events, isTimeout);
      assert.deepEqual(used(), ['a'], 'no failover');
    };

    test(`G 6: a connection reset ends the stream with the dialect's error event (${dialect})`, () =>
      assertBroken('reset_mid'));
    test(`G 6: a truncated stream ends with the dialect's error event (${dialect})`, () => assertBroken('eof_mid=5'));
    test(`G 6: a silent stream ends with a timeout error of the dialect (${dialect})`, async (t) => {
      t.mock.property(timeouts.stream, 'idle', 250);
      await assertBroken('silent_mid', true);
    });

    test(`an error event of the provider ends the stream, without a second error (${dialect})`, async () => {
      const { send, used } = await testGroup(dialect);
      const text = await (await send('demo-x@error_mid;status=503', { stream: true })).text();
      assert.equal(text.match(/Overloaded \(simulated\)/g)?.length, 1);
      assert.ok(!text.includes('before completion'));
      assert.deepEqual(used(), ['a']);
    });

    test(`a stream whose first event is an error is served by the next account (${dialect})`, async () => {
      const { send, used } = await testGroup(dialect);
      sim.next('error_first;status=503');
      const response = await send('demo-x', { stream: true });
      assert.equal(response.status, 200);
      const text = await response.text();
      assert.match(text, /simulated/);
      assert.ok(!text.includes('Overloaded'), text.slice(0, 300));
      assert.deepEqual(used(), ['a', 'b']);
    });

    test(`a stream whose first event is an error on every account gets an error status (${dialect})`, async () => {
      const { send, used } = await testGroup(dialect);
      const response = await send('demo-x@error_first;status=503', { stream: true });
      assert.ok(response.status >= 500, String(response.status));
      assert.match(await response.text(), /overloaded|failed to respond/i);
      assert.deepEqual(used(), ['a', 'b']);
    });

    test(`a stream that breaks inside an event still ends with a complete error event (${dialect})`, async () => {
      canned.respondWith((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"type":"x","response":{"id":"r1"},"sequence_number":4}\n\ndata: {"half', () =>
          response.destroy(),
        );
      });
      const { send } = await testGroup(dialect, [{ base_url: canned.url }]);
      const events = eventsOf(await (await send('demo-x', { stream: true })).text());
      assert.deepEqual(
        events.slice(0, 2).map(({ data }) => data.slice(0, 8)),
        ['{"type":', '{"half'],
      );
      assert.match(events[2]?.data ?? '', /before completion/);
      assert.equal(events.length, 3);
    });

    test(`a stream that breaks after a comment continues the sequence numbers of the provider (${dialect})`, async () => {
      canned.respondWith((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': '1000' });
        response.write('data: {"type":"x","response":{"id":"r1"},"sequence_number":4}\n\n');
        response.write(': still here\n\n', () => response.destroy());
      });
      const { send } = await testGroup(dialect, [{ base_url: canned.url }]);
      const response = await send('demo-x', { stream: true });
      assert.equal(response.headers.get('content-length'), null, 'the error event makes it longer than announced');
      const [first, last] = eventsOf(await response.text());
      ENDING[dialect](last ?? assert.fail('no ending'), first ? [first] : [], false);
    });

    test(`a large unary response that breaks off closes the connection, so that it never looks complete (${dialect})`, async () => {
      for (const fault of ['eof_mid', 'reset_mid']) {
        const { send, used } = await testGroup(dialect);
        const response = await send(`demo-x@big=1000000;${fault}`);
        assert.equal(response.status, 200);
        await assert.rejects(response.text());
        assert.deepEqual(used(), ['a'], 'no failover');
        sim.journal.clear();
      }
    });

    test(`G 6: heartbeats are sent while the provider is silent (${dialect})`, async () => {
      const { send } = await testGroup(dialect);
      const controller = new AbortController();
      const begun = performance.now();
      const response = await send('demo-x@silent_mid', { stream: true, signal: controller.signal });
      const beat = dialect === 'messages' ? 'event: ping\ndata: {"type": "ping"}\n\n' : ': hb\n\n';
      let text = '';
      const beats = (): number => text.split(beat).length - 1;
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (beats() >= 3) break;
      }
      const possible = (performance.now() - begun) / HEARTBEAT_MS;
      controller.abort();
      assert.ok(beats() >= 3 && beats() <= possible, `${beats()} heartbeats of ${possible}`);
      assert.ok(!text.includes('before completion'));
    });

    test(`no heartbeat is sent inside an event or in a unary response (${dialect})`, async () => {
      const { send } = await testGroup(dialect, [{ base_url: canned.url }]);
      const whole = '{"candidates":[{"finishReason":"STOP"}],"error":{"type":"error"},"type":"error"}';
      canned.respondWith(async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"a":1}\n\nevent: error\ndata: ');
        await silence(3 * HEARTBEAT_MS);
        response.end(`${whole}\n\n`);
      });
      const stream = await (await send('demo-x', { stream: true })).text();
      // An event is passed on when it is complete, so heartbeats may come before it.
      const text = stream.replace(/^(data: .*\n\n)(?:: hb\n\n|event: ping\ndata: .*\n\n)+(?=event: error)/, '$1');
      assert.equal(text, `data: {"a":1}\n\nevent: error\ndata: ${whole}\n\n`);
      const large = `{"t":"${'x'.repeat(200_000)}"}`;
      canned.respondWith(async (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(large.slice(0, 150_000));
        await silence(3 * HEARTBEAT_MS);
        response.end(large.slice(150_000));
      });
      assert.equal(await (await send()).text(), large);
    });
  });
}

describe('official SDKs', () => {
  const REPLY = 'This is a simulated answer from demo-x@silent_mid=350. You said: "hello".';
  const model = 'demo-x@silent_mid=350';
  const messages = [{ role: 'user' as const, content: 'hello' }];

  test('official SDKs complete a native stream with heartbeats', async () => {
    const [claude, chat, responses, generate] = await Promise.all(
      (['messages', 'chat', 'responses', 'generate'] as const).map((dialect) => testGroup(dialect)),
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
    for (const text of texts) assert.equal(text?.replace(/from demo-x\S*\./, `from ${model}.`), REPLY);
  });

  test('official SDKs report a broken native stream as an error', async () => {
    const [claude, chat, responses] = await Promise.all(
      (['messages', 'chat', 'responses'] as const).map((dialect) => testGroup(dialect)),
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

// ---------------------------------------------------------------- client disconnects

describe('client disconnect', () => {
  const disconnect = async (fault: string, stream: boolean, atEvents: number): Promise<void> => {
    const { send, used } = await testGroup('messages', [{ max_concurrency: 1 }, { max_concurrency: 1 }]);
    const controller = new AbortController();
    const response = send(`demo-x@${fault}`, { stream, signal: controller.signal });
    const reading = response.then((response) => response.text());
    reading.catch(() => {});
    await sim.journal.waitFor((entry) => entry.complete && entry.eventsSent >= atEvents);
    controller.abort();
    await assert.rejects(reading);
    await sim.journal.waitFor((entry) => entry.aborted);
    sim.journal.clear();
    // The slot is free again, and the account is not in cooldown.
    assert.equal((await send()).status, 200);
    assert.deepEqual(used(), ['a']);
  };

  test('G 6: a client disconnect before the response aborts the upstream call', () => disconnect('hang', false, 0));
  test('G 6: a client disconnect before the head of a stream aborts the upstream call', () =>
    disconnect('slow=600000', true, 0));
  test('G 6: a client disconnect in a stream aborts the upstream call', () =>
    disconnect('events=100000;gap=40', true, 5));
  test('G 6: a client disconnect while a stream is silent aborts the upstream call', () =>
    disconnect('silent_mid', true, 4));
  test('G 6: a client disconnect in a unary response aborts the upstream call', () =>
    disconnect('silent_mid', false, 0));

  test('a call that its client leaves before the response costs its input once, not that of the failed attempt', async () => {
    const { send, used } = await testGroup('messages');
    sim.next('eof_mid');
    sim.next('hang');
    const controller = new AbortController();
    const response = send('demo-x', { signal: controller.signal });
    await sim.journal.waitFor((entry) => entry.complete && used().length === 2);
    controller.abort();
    await assert.rejects(response);
    await sim.journal.waitFor((entry) => entry.aborted);
    assert.equal((await send()).status, 200);
    const charged = () =>
      gateway.context.database.db
        .selectFrom('usage_records')
        .select(['estimated', 'output_tokens'])
        .where('group_id', '=', `g${groupCount}`)
        .where('fault', 'is', null)
        .orderBy('id')
        .execute();
    const records = await until('the record of the second call', async () => {
      const rows = await charged();
      return rows.length > 1 ? rows : undefined;
    });
    assert.deepEqual(
      records.map(({ estimated, output_tokens: output }) => [estimated, output > 0]),
      [
        [true, false],
        [false, true],
      ],
    );
  });
});

test('a malformed upstream model list is left out of GET /v1/models', async () => {
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
  canned.respondWith(jsonResponse('{"data":[null,{"id":"incomplete"}],"models":5}'));
  const response = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${keys.listing}` } });
  assert.equal(response.status, 200);
  const { data } = (await response.json()) as { data: { id: string }[] };
  assert.deepEqual(
    data.map(({ id }) => id),
    ['named'],
  );
});

// ---------------------------------------------------------------- ends that deviate

test('a chat stream that ends after its finish reason is complete, and gets the missing [DONE]', async () => {
  const account = { id: 'done', group: 'done', base_url: `${canned.url}/v1`, api_key: 'k' };
  const keys = await gateway.apply({
    groups: [{ id: 'done', style: 'responses' }],
    accounts: [{ ...account, features: ['chat'] }],
    models: [{ id: 'm', groups: ['done'], free: true }],
    users: [{ id: 'done', balance: '1' }],
    keys: [{ user: 'done', group: 'done', name: 'done' }],
  });
  const chunk = (delta: object, finish_reason: string | null, more: object = {}): string =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const report = `data: ${JSON.stringify({ id: 'c', choices: [], usage })}\n\n`;
  const send = async (...chunks: string[]): Promise<string> => {
    canned.respondWith(sseResponse(...chunks));
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.done}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'hi' }],
      }),
    });
    return response.text();
  };
  const first = chunk({ content: 'Hello' }, null, { usage });
  for (const chunks of [
    [first, chunk({}, 'stop')],
    [first, chunk({}, 'stop'), report],
  ])
    assert.equal(await send(...chunks), `${chunks.join('')}data: [DONE]\n\n`);
  assert.match(await send(first), /upstream_error/);
});
