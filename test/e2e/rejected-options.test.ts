/** Options that the gateway adds and a provider rejects: the request is sent again without them, once, and the next one lacks them. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Sim, startSim } from '../../sim/index.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { anthropic, openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';
import { isTerminal, ResponsesSocketClient } from '../support/websocket.ts';

let sim: Sim;
let gateway: TestGateway;
let keys: Record<string, string>;

const STYLES = {
  claude: 'messages',
  gemini: 'generate-content',
  plain: 'responses',
  openai: 'responses',
  chat: 'responses',
} as const;
type Group = keyof typeof STYLES;

before(async () => {
  sim = await startSim();
  gateway = await startGateway();
  keys = await gateway.apply({
    groups: Object.entries(STYLES).map(([id, style]) => ({ id, style })),
    accounts: Object.keys(STYLES).flatMap((group) => [account(group as Group, 1), account(group as Group, 2)]),
    models: [{ id: '*', groups: Object.keys(STYLES), prices: { input: '1', output: '10' } }],
    users: [{ id: 'ana', balance: '100' }],
    keys: Object.keys(STYLES).map((group) => ({ user: 'ana', group })),
  });
});
beforeEach(() => sim.journal.clear());
after(() => gateway.stop().finally(() => sim.close()));

/**
 * The second account of a group is used only after the first has failed. Chat requests to `plain` are converted, and all but chat requests
 * to `chat`, whose server is taken for OpenAI's.
 */
const account = (group: Group, n: number): object => ({
  id: `${group}-${n}`,
  group,
  base_url: STYLES[group] === 'responses' ? `${sim.url}/v1` : sim.url,
  api_key: `sk-upstream-${group}-${n}`,
  priority: n,
  ...(group === 'plain' && { features: ['responses'] }),
  ...(group === 'chat' && { features: ['chat'], preset: 'openai' }),
});

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' } as const;
type Client = keyof typeof PATHS;

const SAY_HI = [{ role: 'user', content: 'hi' }];
const BODIES: Readonly<Record<Client, object>> = {
  chat: { messages: SAY_HI },
  messages: { max_tokens: 4_000, messages: SAY_HI },
  responses: { input: 'hi' },
};

interface Sent {
  readonly client: Client;
  readonly group: Group;
  /** What the model rejects, in the fault language of the simulator. */
  readonly refuse: string;
  readonly more?: object;
}

const modelOf = ({ refuse }: Pick<Sent, 'refuse'>): string => `demo-x@refuse=${refuse}`;

const post = ({ client, group, refuse, more }: Sent): Promise<Response> =>
  fetch(gateway.url + PATHS[client], {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[group]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...BODIES[client], model: modelOf({ refuse }), ...more }),
  });

const bodies = (): Record<string, unknown>[] =>
  sim.journal.requests.map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);

/** Sends the request twice: the first costs one rejected attempt, the second none. Returns the accepted body. */
async function recovers(sent: Sent): Promise<{ accepted: Record<string, unknown>; dropped: string | null }> {
  const first = await post(sent);
  assert.equal(first.status, 200, await first.clone().text());
  await first.arrayBuffer();
  assert.deepEqual(
    sim.journal.requests.map(({ status }) => status),
    [400, 200],
  );
  const second = await post(sent);
  assert.equal(second.status, 200);
  await second.arrayBuffer();
  assert.equal(sim.journal.requests.length, 3, 'remembered');
  const [, retried, next] = bodies();
  assert.deepEqual(next, retried);
  return { accepted: retried ?? {}, dropped: first.headers.get('x-gateway-dropped') };
}

type Case = Sent & {
  readonly option: string;
  readonly expected: object;
  readonly dropped?: string;
};

const member = (body: Record<string, unknown>, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], body);

const CASES: readonly Case[] = [
  {
    client: 'messages',
    group: 'plain',
    refuse: 'include',
    option: 'encrypted_content',
    expected: { include: undefined },
  },
  {
    client: 'chat',
    group: 'plain',
    refuse: 'reasoning.summary',
    option: 'reasoning.summary',
    expected: { reasoning: undefined, include: ['reasoning.encrypted_content'] },
  },
  {
    client: 'messages',
    group: 'plain',
    refuse: 'reasoning.effort:none',
    more: { thinking: { type: 'disabled' } },
    option: 'reasoning.effort',
    expected: { 'reasoning.effort': 'low' },
  },
  {
    client: 'messages',
    group: 'plain',
    refuse: 'safety_identifier',
    more: { metadata: { user_id: 'u-1' } },
    option: 'safety_identifier',
    expected: { safety_identifier: undefined },
    dropped: 'metadata.user_id',
  },
  {
    client: 'chat',
    group: 'claude',
    refuse: 'thinking.type:adaptive',
    more: { reasoning_effort: 'low' },
    option: 'thinking.adaptive',
    expected: { thinking: { type: 'enabled', budget_tokens: 4_096 }, output_config: undefined },
  },
  {
    client: 'chat',
    group: 'claude',
    refuse: 'output_config.effort',
    more: { reasoning_effort: 'high' },
    option: 'output_config.effort',
    expected: { thinking: { type: 'enabled', budget_tokens: 16_384 }, output_config: undefined },
  },
  {
    client: 'responses',
    group: 'claude',
    refuse: 'thinking.type:disabled',
    more: { reasoning: { effort: 'none' } },
    option: 'thinking.disabled',
    expected: { thinking: undefined, 'output_config.effort': 'low' },
  },
  {
    client: 'responses',
    group: 'claude',
    refuse: 'thinking',
    more: { reasoning: { effort: 'high' } },
    option: 'thinking',
    expected: { thinking: undefined, output_config: undefined },
    dropped: 'reasoning',
  },
  {
    client: 'chat',
    group: 'claude',
    refuse: 'max_tokens>8192',
    option: 'max_tokens',
    expected: { max_tokens: 8_192 },
  },
  {
    client: 'chat',
    group: 'gemini',
    refuse: 'generationConfig.thinkingConfig.includeThoughts',
    option: 'includeThoughts',
    expected: { generationConfig: undefined },
  },
  {
    client: 'chat',
    group: 'gemini',
    refuse: 'generationConfig.thinkingConfig.includeThoughts:true',
    more: { reasoning_effort: 'low' },
    option: 'includeThoughts',
    expected: { 'generationConfig.thinkingConfig': { thinkingLevel: 'LOW' } },
  },
  {
    client: 'messages',
    group: 'gemini',
    refuse: 'generationConfig.thinkingConfig.thinkingLevel:MINIMAL',
    more: { thinking: { type: 'disabled' } },
    option: 'thinkingLevel',
    expected: { 'generationConfig.thinkingConfig': { thinkingLevel: 'LOW' } },
  },
  {
    client: 'responses',
    group: 'gemini',
    refuse: 'generationConfig.thinkingConfig',
    more: { reasoning: { effort: 'high' } },
    option: 'thinkingConfig',
    expected: { generationConfig: undefined },
    dropped: 'reasoning',
  },
  {
    client: 'chat',
    group: 'openai',
    refuse: 'stream_options',
    more: { stream: true },
    option: 'stream_options',
    expected: { stream_options: undefined },
  },
  {
    client: 'responses',
    group: 'chat',
    refuse: 'stream_options',
    more: { stream: true },
    option: 'stream_options',
    expected: { stream_options: undefined },
  },
  {
    client: 'messages',
    group: 'chat',
    refuse: 'max_completion_tokens',
    option: 'max_completion_tokens',
    expected: { max_completion_tokens: undefined, max_tokens: 4_000 },
  },
  {
    client: 'messages',
    group: 'chat',
    refuse: 'reasoning_effort',
    more: { thinking: { type: 'disabled' } },
    option: 'reasoning_effort',
    expected: { reasoning_effort: undefined },
  },
  {
    client: 'messages',
    group: 'chat',
    refuse: 'safety_identifier',
    more: { metadata: { user_id: 'u-1' } },
    option: 'safety_identifier',
    expected: { safety_identifier: undefined },
    dropped: 'metadata.user_id',
  },
  {
    client: 'responses',
    group: 'chat',
    refuse: 'parallel_tool_calls',
    more: { parallel_tool_calls: false, tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }] },
    option: 'parallel_tool_calls',
    expected: { parallel_tool_calls: undefined },
    dropped: 'parallel_tool_calls',
  },
  {
    client: 'responses',
    group: 'chat',
    refuse: 'response_format.json_schema',
    more: { text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object', properties: {} } } } },
    option: 'response_format.json_schema',
    expected: { response_format: { type: 'json_object' } },
    dropped: 'text.format',
  },
];

describe('an option that the provider rejects is left out', () => {
  for (const { option, expected, dropped = null, ...sent } of CASES) {
    for (const stream of sent.more && 'stream' in sent.more ? [true] : [false, true]) {
      const about = `${option}, ${sent.client} on ${STYLES[sent.group]}${stream ? ', streamed' : ''}`;
      test(about, async () => {
        const seen = gateway.log.length;
        // Each test has a model of its own, because rejections are remembered by model.
        const refuse = `${sent.refuse}+unknown_${CASES.findIndex((row) => row.refuse === sent.refuse)}_${stream}`;
        const { accepted, dropped: named } = await recovers({
          ...sent,
          refuse,
          more: { ...sent.more, ...(stream && { stream }) },
        });
        for (const [path, value] of Object.entries(expected)) assert.deepEqual(member(accepted, path), value, path);
        assert.equal(named, dropped);
        const lines = gateway.log.slice(seen).filter(({ msg }) => msg === 'option.rejected');
        assert.deepEqual(
          lines.map(({ account: id, model, option: name, status }) => [id, model, name, status]),
          [[`${sent.group}-1`, modelOf({ refuse }), option, 400]],
        );
      });
    }
  }
});

test('a rejected option is counted, and its call is charged once', async () => {
  const count = async (): Promise<number> => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    const [, value] =
      /dragoman_options_removed_total\{dialect="responses",option="encrypted_content"\} (\d+)/.exec(text) ?? [];
    return Number(value ?? 0);
  };
  const before = await count();
  const own = await gateway.apply({ users: [{ id: 'ben', balance: '10' }], keys: [{ user: 'ben', group: 'plain' }] });
  const model = modelOf({ refuse: 'include+counted' });
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${own.plain}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...BODIES.messages, model }),
  });
  assert.equal(response.status, 200);
  await response.arrayBuffer();
  assert.equal(sim.journal.requests.length, 2);
  const { db } = gateway.context.database;
  const records = () => db.selectFrom('usage_records').select('estimated').where('user_id', '=', 'ben').execute();
  await until('the charge', async () => (await records()).length > 0);
  assert.deepEqual(await records(), [{ estimated: false }]);
  await until('the next scrape', async () => (await count()) === before + 1);
  const line = await until('the log line', () =>
    gateway.log.findLast((entry) => entry.msg === 'request.completed' && entry.model === model),
  );
  assert.deepEqual([line.removed, line.faults, line.attempts], ['encrypted_content', ['option_rejected'], 1]);
});

test('a field that the caller sent is not left out, and the error names it', async () => {
  const effort = await post({
    client: 'chat',
    group: 'plain',
    refuse: 'reasoning.effort:minimal',
    more: { reasoning_effort: 'minimal' },
  });
  assert.equal(effort.status, 400);
  const { error } = (await effort.json()) as { error: { param: string; message: string } };
  assert.equal(error.param, 'reasoning_effort');
  assert.match(error.message, /Supported values are/);
  const limit = await post({ client: 'chat', group: 'claude', refuse: 'max_tokens>100', more: { max_tokens: 200 } });
  assert.equal(limit.status, 400);
  const sampling = await post({ client: 'chat', group: 'claude', refuse: 'temperature', more: { temperature: 0.5 } });
  assert.equal(sampling.status, 400);
  assert.equal(sim.journal.requests.length, 3, 'one attempt each');
});

test('a call gets one further attempt; what it learned from two rejections helps the next call', async () => {
  const sent: Sent = {
    client: 'messages',
    group: 'plain',
    refuse: 'include+safety_identifier',
    more: { metadata: { user_id: 'u-1' } },
  };
  assert.equal((await post(sent)).status, 400);
  assert.equal(sim.journal.requests.length, 2);
  assert.equal((await post(sent)).status, 200);
  assert.equal(sim.journal.requests.length, 3);
});

test('another account gets the request without the option when the first fails after the rejection', async () => {
  sim.next({});
  sim.next({ status: 500 });
  const response = await post({ client: 'messages', group: 'plain', refuse: 'include+failover' });
  assert.equal(response.status, 200);
  assert.deepEqual(
    sim.journal.requests.map(({ status }) => status),
    [400, 500, 200],
  );
  assert.deepEqual(
    bodies().map(({ include }) => include !== undefined),
    [true, false, false],
  );
});

test('rejected options are forgotten when the configuration changes', async () => {
  const sent: Sent = { client: 'messages', group: 'plain', refuse: 'include+forgotten' };
  await recovers(sent);
  await gateway.apply({ accounts: [{ ...account('plain', 1), api_key: 'sk-upstream-plain-new' }] });
  sim.journal.clear();
  await recovers(sent);
});

test('calls that are under way together are each sent again', async () => {
  const sent: Sent = { client: 'chat', group: 'gemini', refuse: 'generationConfig.thinkingConfig+together' };
  const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await post(sent)).status));
  assert.deepEqual(statuses, Array(8).fill(200));
  assert.ok(sim.journal.requests.length <= 16);
});

test('a turn of a WebSocket session is sent again, too', async () => {
  const client = await new ResponsesSocketClient(gateway.url, keys.gemini ?? '').open();
  const model = modelOf({ refuse: 'generationConfig.thinkingConfig+socket' });
  client.create({ model, input: 'hi', reasoning: { effort: 'high' } });
  const { type } = await client.until(isTerminal);
  client.socket.close();
  assert.equal(type, 'response.completed');
  assert.deepEqual(
    sim.journal.requests.map(({ status }) => status),
    [400, 200],
  );
});

test('SDKs see an ordinary reply', async () => {
  const model = modelOf({ refuse: 'generationConfig.thinkingConfig+sdk' });
  const chat = await openai(gateway.url, keys.gemini ?? '').chat.completions.create({
    model,
    messages: [{ role: 'user', content: 'hi' }],
  });
  assert.match(chat.choices[0]?.message.content ?? '', /simulated answer/);
  const message = await anthropic(gateway.url, keys.plain ?? '')
    .messages.stream({
      model: modelOf({ refuse: 'include+sdk' }),
      max_tokens: 100,
      messages: [{ role: 'user', content: 'hi' }],
    })
    .finalMessage();
  assert.equal(message.stop_reason, 'end_turn');
});
