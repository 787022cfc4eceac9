/** A gateway with one group of every kind, objects to name in paths, and credentials for each part of the API. */
import { sql } from 'kysely';
import { type Sim, startSim } from '../../sim/index.ts';
import { FEATURES } from '../../src/rules/index.ts';
import { ADMIN_TOKEN } from '../support/admin.ts';
import { addPerson, type Browser, browserOf } from '../support/console.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { assetSettings, GROUPS, TASKS, taskBody, VIDEO_MODELS, VIDEO_PRICES } from '../support/video.ts';
import { until } from '../support/wait.ts';
import type { Ids } from './requests.ts';

const TEXT_GROUPS = { responses: 'responses', messages: 'messages', generate: 'generate-content' } as const;
export type TextGroup = keyof typeof TEXT_GROUPS;

export interface FuzzFixture {
  readonly gateway: TestGateway;
  readonly keys: Readonly<Record<TextGroup, string>>;
  readonly person: Browser;
  /** A session of its own, for requests that end it. */
  newSession(): Promise<Browser>;
  /** Ids of objects that exist. What requests may destroy is not needed by others. */
  readonly ids: Ids;
  close(): Promise<void>;
}

export async function startFuzzFixture(): Promise<FuzzFixture> {
  const sim: Sim = await startSim({ faults: false, video: { rateLimits: false } });
  const gateway = await startGateway({ env: { ADMIN_TOKEN } });
  const keys = (await gateway.apply(setup(sim))) as Record<TextGroup, string>;
  const { db } = gateway.context.database;
  const person = await addPerson(db, { email: 'demo@example.test', role: 'user', user: 'demo' });
  const other = await addPerson(db, { email: 'victim@example.test', role: 'user', user: 'victim' });
  const key = await db.selectFrom('keys').select('id').where('user_id', '=', 'victim').executeTakeFirstOrThrow();
  const character = await db.selectFrom('characters').select('public_id').executeTakeFirstOrThrow();
  const ids = { ...(await callerIds(gateway.url, keys)), ...(await keptIds(gateway, keys)) };
  return {
    gateway,
    keys,
    person: await browserOf(gateway, person),
    newSession: () => browserOf(gateway, other),
    ids: {
      ...ids,
      character_id: [character.public_id],
      user: ['victim'],
      key: [key.id],
      account: ['spare'],
      person: [other],
      character: ['presenter'],
      model: ['demo-messages', 'demo-generate', 'demo-responses'],
      file: ['index.html', 'assets/x.js'],
    },
    async close() {
      await gateway.stop().finally(() => sim.close().catch(() => {}));
    },
  };
}

const setup = (sim: Sim): object => ({
  groups: [
    ...Object.entries(TEXT_GROUPS).map(([id, style]) => ({ id, style })),
    ...Object.entries(GROUPS).map(([variant, id]) => ({ id, style: 'video', variant })),
  ],
  accounts: [
    {
      id: 'oa1',
      group: 'responses',
      base_url: `${sim.url}/v1`,
      api_key: 'sk-upstream-oa1',
      features: [...FEATURES.responses, 'search'],
    },
    { id: 'cl1', group: 'messages', base_url: sim.url, api_key: 'sk-upstream-cl1' },
    { id: 'ge1', group: 'generate', base_url: sim.url, api_key: 'sk-upstream-ge1' },
    { id: 'spare', group: 'messages', base_url: sim.url, api_key: 'sk-upstream-spare', priority: 9 },
    ...Object.values(GROUPS).map((group) => ({
      id: `account-${group}`,
      group,
      base_url: sim.video.url,
      api_key: `sk-simulated-${group}`,
      assets: assetSettings(sim.video.url, group),
    })),
  ],
  models: [
    { id: 'demo-image', groups: ['responses'], prices: PRICES, capabilities: { imageOutput: true } },
    { id: 'demo-*', groups: Object.keys(TEXT_GROUPS), prices: PRICES },
    ...Object.entries(VIDEO_MODELS).map(([variant, id]) => ({
      id,
      groups: [GROUPS[variant as keyof typeof GROUPS]],
      prices: VIDEO_PRICES,
    })),
  ],
  users: [
    { id: 'demo', balance: '100000', max_keys: 100 },
    { id: 'victim', balance: '10' },
  ],
  keys: [
    ...Object.keys(TEXT_GROUPS).map((group) => ({ user: 'demo', group })),
    { user: 'victim', group: 'messages', name: 'victim', key: 'key-of-victim-000000000000000' },
  ],
  characters: [
    { id: 'presenter', group: 'ep', models: ['demo-video-2-0-*'], upstream_asset: 'asset-1', name: 'Presenter' },
  ],
});
const PRICES = { input: '2', output: '10', per_search: '0.01', per_image: { default: '0.01' } } as const;

/** A task, an asset group and a stored response of the caller. */
async function callerIds(url: string, keys: Readonly<Record<TextGroup, string>>): Promise<Record<string, string[]>> {
  const post = async (path: string, body: object, key = keys.responses): Promise<string> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const { id } = (await response.json()) as { id?: string };
    return id ?? 'none';
  };
  const task = await post(TASKS, taskBody('EP'));
  const group = await post('/v1/asset-groups', { model: VIDEO_MODELS.EP, name: 'Autumn', group_type: 'AIGC' });
  const stored = await post('/v1/responses', { model: 'demo-messages', input: 'hello' }, keys.messages);
  return { task_id: [task], task: [task], group_id: [group], response_id: [stored] };
}

const MESSAGE = { role: 'user', content: 'Hello!' };
const LINE = {
  custom_id: 'first',
  method: 'POST',
  url: '/v1/responses',
  body: { model: 'demo-responses', input: 'hi' },
};
const PART = { custom_id: 'first', params: { model: 'demo-messages', max_tokens: 20, messages: [MESSAGE] } };

/** Two of each object that a caller keeps here or at a provider: one that is deleted, and one that others name. */
async function keptIds({ url, context }: TestGateway, keys: Readonly<Record<TextGroup, string>>): Promise<Ids> {
  const send = async (group: TextGroup, path: string, body: object): Promise<Readonly<Record<string, string>>> => {
    const isForm = body instanceof FormData;
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys[group]}`, ...(!isForm && { 'content-type': 'application/json' }) },
      body: isForm ? body : JSON.stringify(body),
    });
    if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as Readonly<Record<string, string>>;
  };
  const twice = async (make: () => Promise<Readonly<Record<string, string>>>, name = 'id'): Promise<string[]> =>
    [await make(), await make()].map(({ [name]: id = 'none' }) => id);

  const file = (): FormData => {
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new File([JSON.stringify(LINE)], 'requests.jsonl'));
    return form;
  };
  const files = await twice(() => send('responses', '/v1/files', file()));
  const { id: input = '' } = await send('responses', '/v1/files', file());
  const batch = { input_file_id: input, endpoint: LINE.url };
  const conversations = await twice(() => send('responses', '/v1/conversations', { items: [MESSAGE] }));
  const [item] = await context.database.db
    .selectFrom('conversation_pages')
    .select('item_ids')
    .where('conversation_id', '=', conversations[0] ?? '')
    .execute();
  const cache = { model: 'models/demo-generate', contents: [{ role: 'user', parts: [{ text: 'A lamp.' }] }] };
  const caches = await twice(() => send('generate', '/v1beta/cachedContents', cache), 'name');
  const { id: response = '' } = await send('responses', '/v1/responses', { model: 'demo-responses', input: 'Hello!' });
  return {
    file_id: files,
    'googleFiles.file_id': await twice(() => send('responses', '/v1/files', file())),
    batch_id: await twice(() => send('responses', '/v1/batches', batch)),
    'messageBatches.batch_id': await twice(() => send('messages', '/v1/messages/batches', { requests: [PART] })),
    conversation_id: conversations,
    item_id: [item?.item_ids[0] ?? 'none'],
    cache_id: caches.map((name) => name.replace('cachedContents/', '')),
    'interactions.response_id': await twice(() =>
      send('generate', '/v1beta/interactions', { model: 'demo-generate', input: 'Hello!' }),
    ),
    container_id: await containersOf(context.database.db, response),
    'containers.file_id': ['cfile_1'],
  };
}

/** As if code of the response had run in them. */
async function containersOf(db: TestGateway['context']['database']['db'], response: string): Promise<string[]> {
  const ids = ['cntr_1', 'cntr_2'];
  const change = sql`update stored_responses set item_ids = item_ids || ${ids}::text[] where id = ${response}`;
  await until('the response', async () => (await change.execute(db)).numAffectedRows === 1n);
  return ids;
}
