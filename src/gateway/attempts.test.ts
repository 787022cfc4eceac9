import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FakeClock } from '../../test/support/fake-clock.ts';
import {
  accountAt,
  callerOf,
  callFor,
  openFailoverServices,
  type ProviderStep,
  RecordingClient,
  respondJson,
  type ScriptedProvider,
  startProvider,
} from '../../test/support/upstream-call.ts';
import { until } from '../../test/support/wait.ts';
import type { Account } from '../catalog/index.ts';
import { ApiError, type Clock, fail, systemClock } from '../core/index.ts';
import { codecOf, type UpstreamFailure } from '../dialects/index.ts';
import { CIRCUIT, type ErrorCode, errorRow, FAILOVER, FALLBACK, RETRY_BUDGET, TIMEOUTS } from '../rules/index.ts';
import { runAttempts } from './attempts.ts';
import { Tries, tryWays } from './try-ways.ts';
import type { ResponseHandler, UpstreamCall } from './upstream-call.ts';

let provider: ScriptedProvider;
before(async () => {
  provider = await startProvider();
});
after(() => provider.close());

const ok = respondJson(200, { ok: true });
const error = (status: number, type: string) => respondJson(status, { error: { type, message: 'no' } });

/** A call on accounts of the responses style, tried in the order of their ids. */
function openCall(ids: readonly string[], overrides: Partial<UpstreamCall> = {}, clock: Clock = systemClock) {
  const accounts = ids.map((id) => accountAt(provider.url, id, 'responses'));
  const services = openFailoverServices('responses', accounts, clock);
  const client = new RecordingClient();
  const call = callFor(client);
  const served: string[] = [];
  const rejections: UpstreamFailure[] = [];
  const upstreamCall: UpstreamCall = {
    accounts,
    build: (account) => ({
      method: 'POST',
      origin: provider.url,
      path: '/v1/responses',
      headers: ['authorization', `Bearer ${account.credential}`],
      body: '{}',
      timeouts: TIMEOUTS.unary,
    }),
    onFailed() {},
    onResponse: ({ account }): ResponseHandler => ({
      onData: () => true,
      onEnd(): undefined {
        served.push(account.id);
      },
    }),
    classify: (failure) => codecOf('responses').upstream.decodeError(failure),
    onRejected: (failure) => void rejections.push(failure),
    ...overrides,
  };
  const run = (tries?: Tries, among: readonly Account[] = accounts) =>
    runAttempts(call, { ...upstreamCall, accounts: among, tries }, services);
  return { ...services, accounts, client, call, served, rejections, run: () => run(), runWith: run, services };
}

/** A call whose accounts speak two dialects. */
function openWays(first: readonly string[], second: readonly string[]) {
  const one = openCall([...first, ...second]);
  const wayOf = (ids: readonly string[]) => ({
    isNative: true as const,
    dialect: 'responses' as const,
    accounts: one.accounts.filter(({ id }) => ids.includes(id)),
    caller: callerOf('responses'),
    model: undefined,
  });
  const plan = { ways: [wayOf(first), wayOf(second)], leftOut: [], refusal: undefined };
  const run = () =>
    tryWays(one.services, one.call, plan, async ({ accounts }, tries) => void (await one.runWith(tries, accounts)));
  return { ...one, run };
}

const wayIn = (id: string, fallback?: object) => ({ caller: { group: { id }, ...(fallback && { fallback }) } });
const WITH_FALLBACK = { ways: [wayIn('group'), wayIn('other', {})], refusal: undefined };

const codeOf = (run: () => Promise<unknown>): Promise<ErrorCode | undefined> =>
  run().then(
    () => undefined,
    (thrown: unknown) => (thrown instanceof ApiError ? thrown.code : undefined),
  );

test('failover tries the next account after a server error, and logs both attempts', async () => {
  provider.script(error(500, 'server_error'), ok);
  const { run, served, call, lines } = openCall(['a', 'b']);
  await run();
  assert.deepEqual([provider.calls, served], [['a', 'b'], ['b']]);
  assert.deepEqual([call.logFields.attempts, call.logFields.faults], [2, ['failed']]);
  assert.deepEqual(
    lines.filter(({ msg }) => msg === 'attempt.failed').map(({ account, status, reason }) => [account, status, reason]),
    [['a', 500, 'server_error']],
  );
});

test('failover stops after three attempts and returns the error of the last one', async () => {
  provider.script(error(500, 'x'), error(500, 'x'), error(503, 'x'), ok);
  const { run } = openCall(['a', 'b', 'c', 'd']);
  assert.ok(await codeOf(run));
  assert.deepEqual(provider.calls, ['a', 'b', 'c']);
});

test('the ways of a call share its three attempts', async () => {
  provider.script(error(500, 'x'), error(500, 'x'), error(500, 'x'), ok);
  const { run, call } = openWays(['a', 'b'], ['c', 'd']);
  assert.equal(await codeOf(run), 'upstream_error');
  assert.deepEqual(provider.calls, ['a', 'b', 'c']);
  assert.equal(call.logFields.attempts, 3);
});

test('the next round of a call has three attempts of its own, and takes no retry of the process', async () => {
  provider.script(error(500, 'x'), error(500, 'x'), ok, ok);
  const { runWith, services, served, retryBudget } = openCall(['a', 'b', 'c']);
  const tries = new Tries(services);
  await runWith(tries);
  while (retryBudget.take()) {}
  await runWith(tries);
  assert.equal(provider.calls.length, 4);
  assert.equal(served.length, 2);
});

test('a call of several ways counts once for the retry budget, and its second way is a retry', async () => {
  const calls = 1 / RETRY_BUDGET.share;
  const { run, retryBudget, served } = openWays(['a'], ['b']);
  for (let n = 0; n < calls; n += 1) {
    provider.script(error(500, 'x'), ok);
    await run();
  }
  assert.equal(served.length, calls);
  let left = 0;
  while (retryBudget.take()) left += 1;
  assert.equal(left, RETRY_BUDGET.floor + 1 - calls);
});

test('failover starts no further attempt when the retry budget is used up', async () => {
  provider.script(error(500, 'x'), ok, error(500, 'x'), ok);
  const { run, retryBudget } = openCall(['a', 'b']);
  await run();
  assert.deepEqual(provider.calls, ['a', 'b']);
  while (retryBudget.take()) {}
  assert.equal(await codeOf(run), 'upstream_error');
  assert.deepEqual(provider.calls, ['a', 'b', 'a']);
});

/** Closes the connection instead of responding. */
const close: ProviderStep = (response) => void response.socket?.destroy();

test('a provider that closes its idle connection costs neither the call nor the health of its account', async () => {
  provider.script(ok, close, ok);
  const { run, served, lines } = openCall(['a']);
  await run();
  await run();
  assert.deepEqual(
    [provider.calls, served],
    [
      ['a', 'a', 'a'],
      ['a', 'a'],
    ],
  );
  assert.deepEqual(lines, [], 'no failed attempt');
});

test('a request that must not be sent twice never leaves on an idle connection', async () => {
  const connections: unknown[] = [];
  const record =
    (step: ProviderStep): ProviderStep =>
    (response, id) => {
      connections.push(response.socket?.remotePort);
      step(response, id);
    };
  provider.script(record(ok), record(ok), record(close), ok);
  const { run } = openCall(['a'], { sends: 'once' });
  await run();
  await run();
  assert.equal(await codeOf(run), 'upstream_error');
  assert.equal(new Set(connections).size, 3);
  assert.equal(provider.calls.length, 3, 'the last one was sent once');
});

test('failover starts no further attempt after its time', async () => {
  provider.script(error(500, 'x'), ok);
  const clock = new FakeClock();
  const { run } = openCall(['a', 'b'], { use: { operation: 'count' } }, clock);
  const running = codeOf(run);
  clock.advance(FAILOVER.withinMs.count + 1);
  assert.equal(await running, 'upstream_error');
  assert.deepEqual(provider.calls, ['a']);
});

test('failover gives up a silent provider when its circuit opens and a fallback can take the call', async () => {
  provider.script(() => {});
  const clock = new FakeClock();
  const { runWith, accounts, pool, services } = openCall(['a'], {}, clock);
  const running = codeOf(() => runWith(new Tries(services, WITH_FALLBACK)));
  await until('the request', () => provider.calls.length === 1);
  clock.advance(FALLBACK.firstByteMs.stream);
  for (let n = 0; n < CIRCUIT.failuresInRow; n += 1) {
    const lease = pool.lease(accounts);
    if ('account' in lease) lease.release({ kind: 'timeout', hasFallback: true });
  }
  clock.advance(FALLBACK.circuitCheckMs);
  assert.equal(await running, 'upstream_timeout');
});

test('failover waits for the probe of a circuit as long as for any whole response', async () => {
  const reply = Promise.withResolvers<void>();
  provider.script((response, request) => void reply.promise.then(() => ok(response, request)));
  const clock = new FakeClock();
  const { runWith, accounts, pool, services, served } = openCall(['a'], {}, clock);
  for (let n = 0; n < CIRCUIT.failuresInRow; n += 1) {
    const lease = pool.lease(accounts);
    if ('account' in lease) lease.release({ kind: 'timeout', hasFallback: true });
  }
  clock.advance(2 * CIRCUIT.ejectionMs);
  const running = runWith(new Tries(services, WITH_FALLBACK));
  await until('the probe', () => provider.calls.length === 1);
  for (let ms = 0; ms <= 2 * FALLBACK.firstByteMs.stream; ms += FALLBACK.circuitCheckMs)
    clock.advance(FALLBACK.circuitCheckMs);
  reply.resolve();
  await running;
  assert.deepEqual(served, ['a']);
});

test('failover does not repeat a request that the provider rejects as invalid', async () => {
  provider.script(error(400, 'invalid_request_error'), ok);
  const { run, rejections } = openCall(['a', 'b']);
  await run();
  assert.deepEqual([provider.calls, rejections.map(({ status }) => status)], [['a'], [400]]);
});

test('failover sends a request again to the account whose provider rejected an option', async () => {
  provider.script(error(400, 'invalid_request_error'), ok);
  const kinds = ['option_rejected', 'request'] as const;
  let attempts = 0;
  const { run, served, call } = openCall(['a', 'b'], {
    affinity: { hash: 0.9 },
    classify: (failure) => ({
      ...codecOf('responses').upstream.decodeError(failure),
      kind: kinds[attempts++] ?? 'request',
    }),
  });
  await run();
  assert.equal(new Set(provider.calls).size, 1);
  assert.deepEqual([served, call.logFields.attempts], [provider.calls.slice(1), 1]);
});

test('failover ends the call with the exception of a classification', async () => {
  provider.script(error(400, 'invalid_request_error'));
  const { run } = openCall(['a'], {
    classify() {
      throw fail('unsupported_parameter', 'x');
    },
  });
  assert.equal(await codeOf(run), 'unsupported_parameter');
});

test('failover puts a rate-limited account into cooldown, so that the next call starts with another', async () => {
  provider.script(error(429, 'x'), ok, ok);
  const { run, served } = openCall(['a', 'b']);
  await run();
  await run();
  assert.deepEqual(
    [provider.calls, served],
    [
      ['a', 'b', 'b'],
      ['b', 'b'],
    ],
  );
});

test('failover reports a group without accounts as a configuration error that clients do not retry', async () => {
  const { run, lines } = openCall([]);
  assert.equal(await codeOf(run), 'no_upstream_account');
  assert.equal(errorRow('no_upstream_account').retry, false);
  const [line] = lines.filter(({ msg }) => msg === 'account.none_configured');
  assert.equal(line?.level, 50, 'logged as an error');
});

test('failover aborts the upstream and tries no other account when the client disconnects', async () => {
  let isAborted = false;
  provider.script((response) => {
    response.on('close', () => {
      isAborted = true;
    });
  }, ok);
  const { run, client, served } = openCall(['a', 'b']);
  const running = run();
  await until('the first attempt', () => provider.calls.length === 1);
  client.destroy();
  await running;
  await until('the abort', () => isAborted);
  assert.deepEqual([provider.calls, served], [['a'], []]);
});

test('failover repeats the call without opaque values on the same account when the provider rejects one', async () => {
  const rejected = respondJson(400, {
    error: { type: 'invalid_request_error', code: 'invalid_encrypted_content', message: 'no' },
  });
  provider.script(rejected, ok);
  const withoutOpaque = { served: [] as string[] };
  const accounts = ['a', 'b'].map((id) => accountAt(provider.url, id, 'responses'));
  const { run } = openCall(['a', 'b'], {
    withoutOpaque: () => ({
      accounts,
      build: (account: Account) => ({
        method: 'POST',
        origin: provider.url,
        path: '/v1/responses',
        headers: ['authorization', `Bearer ${account.credential}`],
        body: '{"plain":true}',
        timeouts: TIMEOUTS.unary,
      }),
      onFailed() {},
      onResponse: ({ account }) => ({
        onData: () => true,
        onEnd(): undefined {
          withoutOpaque.served.push(account.id);
        },
      }),
      classify: (failure) => codecOf('responses').upstream.decodeError(failure),
      onRejected: () => assert.fail('the second attempt succeeds'),
    }),
  });
  await run();
  assert.deepEqual([provider.calls, provider.bodies[1], withoutOpaque.served], [['a', 'a'], { plain: true }, ['a']]);
});

test('failover ends the call when a handler throws, instead of leaving the client waiting', async () => {
  provider.script(ok);
  const { run } = openCall(['a'], {
    onResponse: () => ({
      onData: () => true,
      onEnd: () => {
        throw new Error('bug');
      },
    }),
  });
  await assert.rejects(run(), /bug/);
});
