/**
 * What models do by themselves: pictures, searches, tiers. Each call looks small, and its provider reports what a model
 * of this name was seen to do. A wallet admits no more of them than it covers; what nobody knew is learned by the line.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBalance } from '../../src/ledger/index.ts';
import { type Canned, jsonResponse, startCanned } from '../support/canned.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';

const PARALLEL = 12;
const TEXT = { input: '1', output: '10' };

type Api = 'chat' | 'messages' | 'generate';
interface Way {
  readonly about: string;
  readonly model: string;
  readonly api: Api;
  readonly prices: object;
  readonly balance: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the provider reports: of the dialect of the group. */
  readonly usage: object;
  readonly reply?: object;
  /** Status of the refusal, for what is refused whatever the balance is. */
  readonly refused?: number;
}

const drawn = (pictures: number, each = 1_290) => ({
  promptTokenCount: 10,
  candidatesTokenCount: 10 + pictures * each,
  candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: pictures * each }],
});
const chatUsage = (prompt: number, completion: number, more: object = {}) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...more,
});

const WAYS: readonly Way[] = [
  {
    about: 'a picture of a model that draws by default',
    ...{ model: 'gemini-2.5-flash-image', api: 'generate', prices: { ...TEXT, image_output: '30' }, balance: '1' },
    usage: drawn(1),
  },
  {
    about: 'a picture of such a model, for a client of chat completions',
    ...{ model: 'gemini-2.5-flash-image', api: 'chat', prices: { ...TEXT, image_output: '30' }, balance: '1' },
    usage: chatUsage(10, 1_300, { completion_tokens_details: { image_tokens: 1_290 } }),
  },
  {
    about: 'ten pictures in one reply',
    ...{ model: 'gemini-2.5-flash-image', api: 'generate', prices: { ...TEXT, image_output: '30' }, balance: '1' },
    usage: drawn(10, 2_520),
  },
  {
    about: 'pictures by the piece',
    ...{ model: 'nano-banana', api: 'generate', prices: { ...TEXT, per_image: { '*': '0.04' } }, balance: '1.5' },
    usage: drawn(10),
  },
  {
    about: 'pictures of a model of no family, whose line has a price for them',
    ...{ model: 'atelier', api: 'generate', prices: { ...TEXT, image_output: '30' }, balance: '1' },
    usage: drawn(5, 2_600),
  },
  {
    about: 'searches of groq/compound',
    ...{ model: 'groq/compound', api: 'chat', prices: { ...TEXT, per_search: '0.005' }, balance: '3' },
    usage: chatUsage(170_000, 10, { num_search_queries: 8 }),
  },
  {
    about: 'sonar-deep-research',
    ...{
      model: 'sonar-deep-research',
      api: 'chat',
      prices: { ...TEXT, per_search: '0.005', citation: '2' },
      balance: '3',
    },
    usage: chatUsage(30, 11_000, { citation_tokens: 48_000, num_search_queries: 40 }),
  },
  {
    about: 'gpt-4o-search-preview',
    ...{ model: 'gpt-4o-search-preview', api: 'chat', prices: TEXT, balance: '0.5' },
    usage: chatUsage(60_000, 10),
  },
  {
    about: 'sonar-pro with a large context',
    ...{ model: 'sonar-pro', api: 'chat', prices: TEXT, balance: '0.5' },
    usage: chatUsage(199_000, 10),
  },
  {
    about: 'suffixes of a router',
    ...{ model: 'name:online:nitro', api: 'chat', prices: TEXT, balance: '0.5' },
    usage: chatUsage(60_000, 10),
  },
  {
    about: 'a tier that no request named',
    ...{ model: 'gpt-5', api: 'chat', prices: { ...TEXT, tiers: { priority: { multiplier: '2' } } }, balance: '0.02' },
    usage: chatUsage(50, 200),
    reply: { service_tier: 'priority' },
  },
  {
    about: 'flex asked, priority served',
    ...{
      model: 'gpt-5',
      api: 'chat',
      prices: { ...TEXT, tiers: { priority: { multiplier: '2' }, flex: { multiplier: '0.5' } } },
      balance: '0.02',
    },
    body: { service_tier: 'flex' },
    usage: chatUsage(50, 200),
    reply: { service_tier: 'priority' },
  },
  {
    about: 'a tier by a header',
    ...{ model: 'gemini-2.5-pro', api: 'generate', prices: TEXT, balance: '0.02', refused: 400 },
    headers: { 'x-vertex-ai-llm-shared-request-type': 'priority' },
    usage: { promptTokenCount: 10, candidatesTokenCount: 10, trafficType: 'ON_DEMAND_PRIORITY' },
  },
];

const GROUPS = { chat: 'openai', messages: 'claude', generate: 'gemini' } as const;
const nameOf = (n: number): string => `user-${n}`;
let gateway: TestGateway;
let upstream: Canned;
let current: Pick<Way, 'api' | 'usage' | 'reply'>;

before(async () => {
  upstream = await startCanned();
  upstream.respondWith((response, request) => jsonResponse(JSON.stringify(replyOf(current)))(response, request));
  gateway = await startGateway({ setup: basicSetup(upstream.url) });
});
after(() => gateway?.stop().finally(() => upstream.close()));

const replyOf = ({ api, usage, reply = {} }: typeof current): object =>
  api === 'generate'
    ? { candidates: [{ finishReason: 'STOP', content: { parts: [{ text: 'x' }] } }], usageMetadata: usage }
    : {
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'x' } }],
        usage,
        ...reply,
      };

/** Applies the line and the wallet of a way, on names of its own. */
async function wallet(n: number, { model, api, prices, balance }: Way, more: object = {}): Promise<string> {
  const user = nameOf(n);
  const line = { id: `${model}`, groups: [GROUPS[api]], prices, context: 200_000, ...more };
  const keys = await gateway.apply({
    models: [line],
    users: [{ id: user, balance }],
    keys: [{ user, group: GROUPS[api] }],
  });
  return Object.values(keys)[0] ?? assert.fail();
}

async function send(key: string, { model, api, body = {}, headers = {} }: Way): Promise<number> {
  const text = [{ role: 'user', content: 'hi' }];
  const [path, request] =
    api === 'generate'
      ? [
          `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
          { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 200 }, ...body },
        ]
      : ['/v1/chat/completions', { model, messages: text, max_completion_tokens: 200, ...body }];
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(request),
  });
  await response.arrayBuffer();
  return response.status;
}

async function balanceAfter(n: number, admitted: number): Promise<number> {
  const { db } = gateway.context.database;
  await until('all charges', async () => {
    const rows = await db.selectFrom('usage_records').select('id').where('user_id', '=', nameOf(n)).execute();
    return rows.length >= admitted ? true : undefined;
  });
  return Number((await readBalance(db, nameOf(n))).available) / 1e9;
}

describe('no wallet is overspent by', () => {
  for (const [n, way] of WAYS.entries())
    test(way.about, async () => {
      const key = await wallet(n, way);
      current = way;
      const statuses = await Promise.all(Array.from({ length: PARALLEL }, () => send(key, way)));
      const admitted = statuses.filter((status) => status === 200).length;
      const left = await balanceAfter(n, admitted);
      assert.ok(left >= 0, `${admitted} admitted, ${way.balance} -> ${left}`);
      assert.deepEqual([...new Set(statuses.filter((status) => status !== 200))], way.refused ? [way.refused] : [402]);
      assert.equal(admitted > 0, way.refused === undefined, `${admitted} admitted`);
    });
});

const learned = async (pattern: string): Promise<unknown> =>
  (
    await gateway.context.database.db
      .selectFrom('models')
      .select('learned')
      .where('pattern', '=', pattern)
      .executeTakeFirst()
  )?.learned;

describe('what nobody knew of a model', () => {
  const silent: Way = {
    about: 'a line that says nothing, and has no price for pictures or searches',
    ...{ model: 'house-blend', api: 'generate', prices: TEXT, balance: '0.05' },
    usage: { ...drawn(3, 2_600), promptTokenCount: 10 },
  };

  test('is charged, kept with the line, and reserved from then on', async () => {
    const key = await wallet(100, silent);
    current = silent;
    assert.equal(await send(key, silent), 200);
    assert.deepEqual(await until('the lesson', () => learnedOnce('house-blend')), { pictures: 3 });
    // Its picture costs 0.078 dollars more than text.
    await until('a refusal', async () => ((await send(key, silent)) === 402 ? true : undefined));
  });

  test('is not learned where the operator states it', async () => {
    const stated = { ...silent, model: 'house-stated' };
    const key = await wallet(101, { ...stated, balance: '1' }, { capabilities: { pictures: 0 } });
    current = stated;
    assert.equal(await send(key, stated), 200);
    await balanceAfter(101, 1);
    assert.deepEqual(await learned('house-stated'), {});
  });

  test('a tier without a price is charged at twice the standard price, and reserved from then on', async () => {
    const tiered: Way = {
      about: 'a tier without a price',
      ...{ model: 'gpt-5-nano', api: 'chat', prices: TEXT, balance: '1' },
      usage: chatUsage(50, 100),
      reply: { service_tier: 'priority' },
    };
    const key = await wallet(102, tiered);
    current = tiered;
    assert.equal(await send(key, tiered), 200);
    await balanceAfter(102, 1);
    const { db } = gateway.context.database;
    const rows = await db.selectFrom('usage_records').select('nanos').where('user_id', '=', nameOf(102)).execute();
    assert.deepEqual(rows, [{ nanos: 2n * (50_000n + 1_000_000n) }]);
    assert.deepEqual(await until('the lesson', () => learnedOnce('gpt-5-nano')), { tiers: ['priority'] });
  });

  const learnedOnce = async (pattern: string): Promise<unknown> => {
    const found = (await learned(pattern)) as object;
    return Object.keys(found).length > 0 ? found : undefined;
  };
});
