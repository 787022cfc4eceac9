import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import type { Key } from '../../access/keys/index.ts';
import { type Account, Catalog, type Group, type ModelLine } from '../../catalog/index.ts';
import { ThreadPool } from '../../platform/threads/index.ts';
import { Pool } from '../../providers/pool/index.ts';
import { type ExplainServices, explainCall } from './explain.ts';

const group = (id: string, style: Group['style']): Group => ({
  id,
  style,
  variant: null,
  name: id,
  multiplierPpm: 1_000_000n,
  unknownMembers: 'bound',
});
const account = (id: string, groupId: string, features: readonly string[], maxConcurrency = 8): Account =>
  ({ id, groupId, features: new Set(features), models: new Map(), weight: 1, priority: 0, maxConcurrency }) as Account &
    object as Account;
const line = (pattern: string, more: Partial<ModelLine> = {}): ModelLine => ({
  pattern,
  upstream: null,
  overrides: {},
  id: 1n,
  learned: { abilities: {}, tiers: [] },
  context: null,
  maxOutput: 100,
  fallback: [],
  isFree: false,
  prices: [{ id: 7n, from: 0, rates: { input: '1', output: '2' } }],
  ...more,
});
const key = (groupId: string, allowedModels: readonly string[] | null = null): Key =>
  ({
    id: 'key_1',
    userId: 'ana',
    groups: [groupId],
    allowedModels,
    store: true,
    userMultiplierPpm: 1_000_000n,
  }) as Partial<Key> as Key;

const accounts = [account('oa1', 'openai', ['chat']), account('cl1', 'claude', ['messages'], 1)];
const catalog = new Catalog(
  [group('openai', 'responses'), group('claude', 'messages')],
  accounts,
  new Map([
    ['openai', [line('gpt', { prices: [] }), line('gpt-*')]],
    ['claude', [line('claude-x', { fallback: ['openai/gpt', 'openai/gpt-5', 'gone/gpt'] }), line('claude-*')]],
  ]),
);

function services(available = '1') {
  const clock = new FakeClock();
  const pool = new Pool(clock);
  const found: Partial<ExplainServices> = {
    catalog: () => catalog,
    clock,
    pool,
    threads: new ThreadPool({ clock }),
    bodyLimit: () => 1_000_000,
    accountTag: (id) => id,
    opaqueKey: Buffer.alloc(32),
    balance: async () => ({ available }),
    checkSpend: () => {},
  };
  return { pool, services: found as ExplainServices };
}

test('a plan has the price and the reserved amount of every way, and names lines that cannot serve', async () => {
  const { services: given } = services();
  const plan = await explainCall(given, { key: key('claude'), model: 'claude-x' });
  assert.deepEqual(
    plan.ways.map(({ group, dialect, native, fallback, price }) => [group, dialect, native, fallback, price]),
    [
      ['claude', 'messages', true, false, '7'],
      ['openai', 'chat', false, true, '7'],
    ],
  );
  assert.deepEqual(
    plan.left_out.map(({ group, line, dialect, reason }) => [group, line, dialect, reason]),
    [
      ['openai', null, 'responses', 'no_account'],
      ['gone', 'gpt', null, 'no_line'],
      ['openai', 'gpt', 'chat', 'no_price'],
    ],
  );
  assert.deepEqual([plan.way, plan.error], [1, null]);
});

test('a full account is passed over for the fallback, and a call without one waits for it', async () => {
  const { pool, services: given } = services();
  const lease = pool.lease(accounts.slice(1));
  const plan = await explainCall(given, { key: key('claude'), model: 'claude-x' });
  assert.deepEqual([plan.ways[0]?.accounts[0]?.state, plan.way], ['full', 2]);
  const alone = await explainCall(given, { key: key('claude'), model: 'claude-y' });
  assert.deepEqual([alone.way, alone.error?.status, alone.error?.code], [null, 529, 'server_is_overloaded']);
  assert.equal(pool.inFlight('cl1'), 1, 'a plan takes no slot');
  assert.ok('account' in lease);
});

test('a wallet that does not cover the own line refuses the call, whatever the fallback costs', async () => {
  const { services: given } = services('0.000000001');
  const plan = await explainCall(given, { key: key('claude'), model: 'claude-x' });
  assert.deepEqual([plan.way, plan.error?.code, plan.ways[0]?.covered], [null, 'insufficient_balance', false]);
});

test('a key that may not use the model gets no way, also none of a fallback', async () => {
  const { services: given } = services();
  const plan = await explainCall(given, { key: key('claude', ['gpt-*']), model: 'claude-x' });
  assert.deepEqual([plan.ways, plan.error?.code], [[], 'model_not_allowed']);
});
