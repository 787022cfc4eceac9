/** Ids of providers are input (G 4.4): whichever they send, every caller continues and reads its own conversations only. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { type Canned, type ReceivedRequest, startCanned } from '../support/canned.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { openai } from '../support/sdk.ts';
import { until } from '../support/wait.ts';

const SCHEMES = {
  constant: () => 'chatcmpl-1',
  'numbered again and again': (n: number) => `resp_${n % 5}`,
  empty: () => '',
  long: () => 'x'.repeat(3_000),
  'with any characters': (n: number) => `ä/../${n % 2}\u0000\n"`,
} satisfies Record<string, (n: number) => string>;
const GROUPS = ['chat', 'claude', 'gemini'] as const;
const CONVERSATIONS = 4;
const TURNS = 3;

let upstream: Canned;
let gateway: TestGateway;
const keys: Record<string, Record<string, string>> = {};
let idOf: (n: number) => string;
let replies = 0;

before(async () => {
  upstream = await startCanned();
  upstream.respondWith((response, request) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(replyTo(request, idOf(replies++))));
  });
  gateway = await startGateway();
  const groups = [
    { id: 'chat', style: 'responses' },
    { id: 'claude', style: 'messages' },
    { id: 'gemini', style: 'generate-content' },
  ];
  const accounts = [
    { id: 'c', group: 'chat', base_url: `${upstream.url}/v1`, api_key: 'sk-1', features: ['chat'] },
    { id: 'm', group: 'claude', base_url: upstream.url, api_key: 'sk-2' },
    { id: 'g', group: 'gemini', base_url: upstream.url, api_key: 'sk-3' },
  ];
  const users = ['ana', 'ben'].map((id) => ({ id, balance: '100' }));
  const models = [{ id: '*', groups: [...GROUPS], prices: { input: '1', output: '1' } }];
  await gateway.apply({ groups, accounts, users, models });
  for (const { id } of users) keys[id] = await gateway.apply({ keys: GROUPS.map((group) => ({ user: id, group })) });
});
after(async () => {
  await gateway.stop();
  await upstream.close();
});

/** A text and a call, each naming the turn that the request ends with. */
function replyTo({ target, body }: ReceivedRequest, id: string): object {
  const turn = turnsIn(body.toString()).at(-1) ?? '';
  const text = `heard ${turn}`;
  const args = { turn };
  if (target.endsWith('/chat/completions'))
    return {
      id,
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: text,
            tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: JSON.stringify(args) } }],
          },
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    };
  if (target.startsWith('/v1/messages'))
    return {
      id,
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_reason: 'tool_use',
      stop_sequence: null,
      content: [
        { type: 'text', text },
        { type: 'tool_use', id, name: 'look', input: args },
      ],
      usage: { input_tokens: 10, output_tokens: 5 },
    };
  return {
    responseId: id,
    modelVersion: 'm',
    candidates: [
      {
        finishReason: 'STOP',
        content: { role: 'model', parts: [{ text }, { functionCall: { id, name: 'look', args } }] },
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  };
}

/** `ana-chat-2/1` is the second turn of the third conversation of ana. */
const turnsIn = (text: string): string[] =>
  [...text.matchAll(/asked (\w+-\w+-\d+\/\d+)/g)].map(([, turn = '']) => turn);

const TOOL = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false } as const;

class Conversation {
  readonly name: string;
  readonly ids: string[] = [];
  readonly #client: ReturnType<typeof openai>;
  #callId: string | undefined;

  constructor(user: string, group: string, n: number) {
    this.name = `${user}-${group}-${n}`;
    this.#client = openai(gateway.url, keys[user]?.[group] ?? '');
  }

  async next(): Promise<void> {
    const turn = this.ids.length;
    const previous = this.ids.at(-1);
    const result = { type: 'function_call_output', call_id: this.#callId ?? '', output: `result ${turn - 1}` } as const;
    const response = await this.#client.responses.create({
      model: 'demo',
      tools: [TOOL],
      input: [...(previous === undefined ? [] : [result]), { role: 'user', content: `asked ${this.name}/${turn}` }],
      ...(previous !== undefined && { previous_response_id: previous }),
    });
    assert.equal(response.output_text, `heard ${this.name}/${turn}`);
    const call = response.output.find((item) => item.type === 'function_call') ?? assert.fail('no call');
    this.#callId = call.call_id;
    this.ids.push(response.id);
  }

  async read(): Promise<void> {
    for (const [turn, id] of this.ids.entries()) {
      const response = await this.#client.responses.retrieve(id);
      assert.equal(response.output_text, `heard ${this.name}/${turn}`, 'GET returns the response of this conversation');
    }
  }
}

/** Every request ends with a turn, and holds all turns before it of the same conversation, and no other one. */
function checkRequests(requests: readonly ReceivedRequest[]): void {
  for (const { body } of requests) {
    const asked = turnsIn(body.toString());
    const [conversation, last = ''] = asked.at(-1)?.split('/') ?? [];
    assert.deepEqual(
      asked,
      Array.from({ length: Number(last) + 1 }, (_, turn) => `${conversation}/${turn}`),
    );
    const results = [...body.toString().matchAll(/result (\d+)/g)].map(([, turn]) => Number(turn));
    assert.deepEqual(
      results,
      Array.from({ length: Number(last) }, (_, turn) => turn),
      'each call has its result',
    );
  }
}

for (const [scheme, id] of Object.entries(SCHEMES))
  test(`G 4.4: ids of replies and calls that are ${scheme} mix no conversations`, async () => {
    idOf = id;
    upstream.requests.length = 0;
    const conversations = ['ana', 'ben'].flatMap((user) =>
      GROUPS.flatMap((group) => Array.from({ length: CONVERSATIONS }, (_, n) => new Conversation(user, group, n))),
    );
    for (let turn = 0; turn < TURNS; turn += 1) await Promise.all(conversations.map((one) => one.next()));
    checkRequests(upstream.requests);
    await Promise.all(conversations.map((one) => one.read()));
    const ids = conversations.flatMap((one) => one.ids);
    assert.equal(new Set(ids).size, ids.length, 'no id twice');
  });

test('G 4.4: stored turns that name each other in a circle are one clear 400', async () => {
  idOf = SCHEMES.constant;
  const conversation = new Conversation('ana', 'chat', 99);
  for (let turn = 0; turn < 3; turn += 1) await conversation.next();
  const [, second = '', last = ''] = conversation.ids;
  const db = gateway.context.database.db;
  await until('the rows', async () => {
    const changed = await sql`update stored_responses set previous_id = ${last} where id = ${second}`.execute(db);
    return changed.numAffectedRows === 1n;
  });
  const replica = await startGateway({ database: gateway.database });
  try {
    const asked = upstream.requests.length;
    const create = openai(replica.url, keys.ana?.chat ?? '').responses.create({
      model: 'demo',
      input: 'go on',
      previous_response_id: last,
    });
    await assert.rejects(create, { status: 400, code: 'previous_response_not_found', param: 'previous_response_id' });
    assert.equal(upstream.requests.length, asked, 'nothing is sent');
  } finally {
    await replica.stop();
  }
});

test('G 4.4: two users keep responses that their provider gave the same id', async () => {
  const native = await startCanned();
  try {
    let owner = 'ana';
    native.respondWith((response, { method }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const output = [
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: owner }] },
      ];
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      const base = { id: 'resp_1', object: 'response', status: 'completed', model: 'demo', output: [] };
      response.end(JSON.stringify(method === 'GET' ? base : { ...base, output, usage }));
    });
    const account = { group: 'native', api_key: 'sk-4', base_url: `${native.url}/v1` };
    await gateway.apply({
      groups: [{ id: 'native', style: 'responses' }],
      accounts: [{ ...account, id: 'n' }],
      models: [{ id: 'shared', groups: ['native'], prices: { input: '1', output: '1' } }],
    });
    for (owner of ['ana', 'ben']) {
      const added = await gateway.apply({ keys: [{ user: owner, group: 'native' }] });
      Object.assign(keys[owner] ?? {}, added);
      await openai(gateway.url, added.native ?? '').responses.create({ model: 'shared', input: owner });
    }
    const db = gateway.context.database.db;
    const owners = async () =>
      (await sql<{ user_id: string }>`select user_id from stored_responses where id = 'resp_1'`.execute(db)).rows;
    await until('both are recorded', async () => (await owners()).length === 2);
    for (const user of ['ana', 'ben'])
      assert.equal((await openai(gateway.url, keys[user]?.native ?? '').responses.retrieve('resp_1')).id, 'resp_1');
  } finally {
    await native.close();
  }
});
