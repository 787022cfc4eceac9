/**
 * What a failed attempt has cost (ADR 13): charged to nobody, and booked for its account,
 * however the attempt ends, in every dialect, natively and converted.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { DIALECTS, type Dialect } from '../../src/rules/index.ts';
import { ADMIN_TOKEN, adminApi } from '../support/admin.ts';
import { type Canned, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { WIRES, type Wire } from '../support/reply-wires.ts';
import { until } from '../support/wait.ts';

const STYLES: Readonly<Record<Dialect, string>> = {
  messages: 'messages',
  chat: 'responses',
  responses: 'responses',
  generate: 'generate-content',
};
const CLIENTS: Readonly<Record<Dialect, { readonly path: string; readonly body: object }>> = {
  messages: {
    path: '/v1/messages',
    body: { model: 'demo', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
  },
  chat: { path: '/v1/chat/completions', body: { model: 'demo', messages: [{ role: 'user', content: 'hello' }] } },
  responses: { path: '/v1/responses', body: { model: 'demo', input: 'hello' } },
  generate: { path: '/v1beta/models/demo', body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] } },
};
/** Of the provider, and what a reply of 11 and 3 tokens costs at it. */
const COST = { input: '10', output: '100' };
const WHOLE_NANOS = 11n * 10_000n + 3n * 100_000n;

type Send = (answer: ServerResponse) => void;
const stream =
  (text: string, isCut: boolean): Send =>
  (answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.write(text, () => (isCut ? answer.destroy() : answer.end()));
  };
const body =
  (text: string, length = text.length): Send =>
  (answer) => {
    answer.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
    answer.write(text, () => answer.destroy());
  };

interface Ending {
  readonly isStream: boolean;
  readonly send: (wire: Wire) => Send;
  /** The client had text already, so that no other account serves the call. */
  readonly isShown: boolean;
  /** What the provider bills for the attempt; `some` where it is estimated. */
  readonly nanos: (dialect: Dialect) => bigint | 'some';
}

/** Only this dialect reports the input at the beginning of a stream. */
const inputOf = (dialect: Dialect): bigint => (dialect === 'messages' ? 110_000n : 0n);

const ENDINGS: Readonly<Record<string, Ending>> = {
  'an announcement, and closes': {
    isStream: true,
    send: ({ announced }) => stream(announced, false),
    isShown: false,
    nanos: inputOf,
  },
  'nothing, and closes': { isStream: true, send: () => stream('', false), isShown: false, nanos: () => 0n },
  'an announcement and an error': {
    isStream: true,
    send: ({ announced, error }) => stream(announced + error, false),
    isShown: false,
    nanos: inputOf,
  },
  'a word, and resets the connection': {
    isStream: true,
    send: ({ word }) => stream(word, true),
    isShown: true,
    nanos: () => 'some',
  },
  'a word and an error': {
    isStream: true,
    send: ({ word, error }) => stream(word + error, false),
    isShown: true,
    nanos: () => 'some',
  },
  'a body without its last bracket': {
    isStream: false,
    send: ({ whole }) => body(whole.slice(0, -1), whole.length),
    isShown: false,
    nanos: () => WHOLE_NANOS,
  },
};

let accountA: Canned;
let accountB: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;
let groups = 0;
const admin = adminApi(() => gateway.url);

before(async () => {
  accountA = await startCanned();
  accountB = await startCanned();
  gateway = await startGateway({ env: { ADMIN_TOKEN } });
});
after(async () => {
  await gateway.stop();
  await accountA.close();
  await accountB.close();
});
beforeEach(() => {
  accountA.requests.length = 0;
  accountB.requests.length = 0;
});

/** A group whose account a is tried first. */
async function newGroup(dialect: Dialect, limits: object = {}): Promise<string> {
  groups += 1;
  const group = `g${groups}`;
  const suffix = STYLES[dialect] === 'responses' ? '/v1' : '';
  const account = { group, api_key: 'sk', ...(dialect === 'chat' && { features: ['chat'] }) };
  keys = await gateway.apply({
    groups: [{ id: group, style: STYLES[dialect] }],
    accounts: [
      { ...account, id: `${group}-a`, base_url: `${accountA.url}${suffix}`, priority: 1, ...limits },
      { ...account, id: `${group}-b`, base_url: `${accountB.url}${suffix}`, priority: 2 },
    ],
    models: [{ id: 'demo', groups: [group], prices: { input: '1', output: '1' }, cost: COST }],
    users: [{ id: group, balance: '1' }],
    keys: [{ user: group, group }],
  });
  return group;
}

async function send(group: string, client: Dialect, isStream: boolean): Promise<string> {
  const { path, body: sent } = CLIENTS[client];
  const method = isStream ? ':streamGenerateContent?alt=sse' : ':generateContent';
  const answer = await fetch(gateway.url + path + (client === 'generate' ? method : ''), {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${keys[group]}` },
    body: JSON.stringify(client === 'generate' ? sent : { ...sent, stream: isStream }),
  });
  return answer.text().catch((error: unknown) => String(error));
}

const recordsOf = (group: string) =>
  gateway.context.database.db.selectFrom('usage_records').selectAll().where('user_id', '=', group).execute();
/** Records are written in their order, so that those of a later call come behind all of this one. */
async function bookedTo(group: string, dialect: Dialect, calls: number) {
  for (const account of [accountA, accountB]) account.respondWith(stream(WIRES[dialect].reply, false));
  assert.match(await send(group, dialect, true), /fig/);
  const isServed = ({ fault }: { readonly fault: string | null }): boolean => fault === null;
  await until('the records', async () => (await recordsOf(group)).filter(isServed).length > calls);
  const records = (await recordsOf(group)).toSorted((x, y) => (x.id < y.id ? -1 : 1));
  return { failed: records.filter((one) => !isServed(one)), served: records.filter(isServed).slice(0, calls) };
}

for (const dialect of DIALECTS)
  describe(`ADR 13: a ${dialect} provider that sends`, () => {
    const other: Dialect = dialect === 'messages' ? 'responses' : 'messages';
    for (const [what, { isStream, send: sends, isShown, nanos }] of Object.entries(ENDINGS))
      for (const client of [dialect, other])
        test(`${what}, has its cost booked, and nobody pays (${client === dialect ? 'natively' : `for ${client}`})`, async () => {
          const group = await newGroup(dialect);
          const wire = WIRES[dialect];
          accountA.respondWith(sends(wire));
          accountB.respondWith(isStream ? stream(wire.reply, false) : body(wire.whole));
          const received = await send(group, client, isStream);
          assert.match(received, /fig/, received);
          assert.equal(accountB.requests.length, isShown ? 0 : 1);
          const { failed, served } = await bookedTo(group, dialect, isShown ? 0 : 1);
          const expected = nanos(dialect);
          if (expected === 0n) return assert.deepEqual(failed, []);
          const [record, ...more] = failed;
          assert.equal(more.length, 0, 'once');
          assert.deepEqual([record?.account_id, record?.nanos], [`${group}-a`, 0n]);
          if (expected === 'some') assert.ok((record?.cost_nanos ?? 0n) >= 100_000n, String(record?.cost_nanos));
          else assert.equal(record?.cost_nanos, expected);
          assert.deepEqual(
            served.map(({ account_id, nanos: paid }) => [account_id, paid]),
            isShown ? [] : [[`${group}-b`, 14_000n]],
          );
        });
  });

test('what failed attempts cost counts towards the cost limit of their account, and shows in log, records and reports', async () => {
  const group = await newGroup('messages', { cost_day: '0.0003' });
  const wire = WIRES.messages;
  accountA.respondWith(stream(wire.announced, false));
  accountB.respondWith(stream(wire.reply, false));
  const calls = 3;
  for (let call = 1; call <= calls; call += 1) {
    await send(group, 'messages', true);
    await until(
      'the record',
      async () => (await recordsOf(group)).filter(({ fault }) => fault === null).length === call,
    );
  }
  assert.equal(accountA.requests.length, calls);
  await until('the account is out, at 0.00011 for each call', async () => {
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    return metrics.includes(`dragoman_account_out{account="${group}-a",state="limited",cause="cost_day"} 1`);
  });

  type Line = Readonly<Record<string, unknown>>;
  const read = async (path: string) => (await admin<{ data: Line[]; total: Line }>('GET', path)).body;
  const report = await read(`/usage?by=account&group=${group}`);
  const line = report.data.find(({ account }) => account === `${group}-a`);
  assert.deepEqual([line?.requests, line?.revenue, line?.failed_cost], [0, '0', line?.known_cost]);
  assert.equal(Number(line?.failed_cost), (110_000 * calls) / 1e9);
  assert.equal(report.total.requests, calls);
  const records = await read(`/records?user=${group}`);
  assert.ok(records.data.some(({ fault, charge }) => fault === 'truncated' && charge === '0'));
  await until('the log', async () => (await read(`/requests?user=${group}`)).data.length === calls);
  const oldest = (await read(`/requests?user=${group}`)).data.at(-1);
  const [first] = (oldest?.attempts ?? []) as Line[];
  assert.deepEqual([first?.account, first?.cost], [`${group}-a`, '0.00011']);
  const own = await fetch(`${gateway.url}/v1/usage`, { headers: { authorization: `Bearer ${keys[group]}` } });
  const { total } = (await own.json()) as { total: Line };
  assert.deepEqual([total.requests, total.cost], [calls, '0.000042'], 'the caller sees own calls alone');
});
