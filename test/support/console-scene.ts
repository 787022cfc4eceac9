/**
 * What the pages of the console show: accounts in several states, calls of every outcome, video tasks with callbacks,
 * assets, characters, and decisions that wait. Built over the API, like real traffic.
 */
import OpenAI, { toFile } from 'openai';
import type { Sim } from '../../sim/index.ts';
import { demoSetup } from '../../src/catalog/setup/index.ts';
import { newRecordId } from '../../src/ledger/index.ts';
import type { Db } from '../../src/platform/db/index.ts';
import { type AdminApi, adminApi } from './admin.ts';
import type { Receiver } from './callbacks.ts';
import { type Canned, jsonResponse } from './canned.ts';
import { until } from './wait.ts';

export interface SceneSources {
  readonly url: string;
  readonly token: string;
  readonly db: Db;
  /** API keys by group. */
  readonly keys: Readonly<Record<string, string>>;
  readonly receiver: Receiver;
  /** Decorates every text that an operator, a user, a provider or a caller can choose. */
  readonly text: (plain: string) => string;
  /** Runs before the call whose page shows its attempts, for example to slow the provider down. */
  readonly beforeCall?: () => void;
}

export interface Scene {
  /** A converted call that failed over, a refused one, and one that a provider rejected. */
  readonly request: string;
  readonly refused: string;
  readonly rejected: string;
  /** Succeeded, with a callback that was delivered. */
  readonly task: string;
  readonly failedTask: string;
  readonly callback: string;
  readonly key: string;
  readonly character: string;
}

/** The account whose provider fails: it is tried first, and another one makes its calls good. */
export const FAILING_ACCOUNT = 'openai-eu';
/** The account of a group whose provider rejects every credential. */
export const REFUSED_ACCOUNT = 'claude-eu';

/** The demo and two accounts at a provider that fails in its own words. */
export function sceneSetup(sim: Sim, failing: Canned, text: SceneSources['text']): object {
  const demo = demoSetup({ url: sim.url, videoUrl: sim.video.url });
  return {
    ...demo,
    groups: demo.groups.map((group) => ({ ...group, name: text(group.name ?? group.id) })),
    accounts: [
      ...demo.accounts.map((account) => ({ ...account, priority: 1 })),
      {
        id: FAILING_ACCOUNT,
        group: 'responses',
        base_url: `${failing.url}/v1`,
        api_key: 'sk-simulated',
        models: { [text('house-model')]: 'gpt-5' },
      },
      { id: REFUSED_ACCOUNT, group: 'messages', base_url: `${failing.url}/refused`, api_key: 'sk-simulated' },
    ],
    models: [
      ...demo.models,
      {
        id: text('house-model'),
        groups: ['responses'],
        upstream: 'demo-responses',
        prices: { input: '1', output: '4' },
      },
      // Its provider rejects every call.
      {
        id: 'strict-model',
        groups: ['generate'],
        upstream: 'demo-generate@fault=400',
        prices: { input: '1', output: '4' },
      },
    ],
    users: [
      ...demo.users,
      { id: 'ana', email: 'ana@example.test', balance: '4.20', rpm: 60, spend_day: '5' },
      { id: 'studio-north', email: 'studio@example.test', balance: '0' },
    ],
  };
}

/** Video options of the simulated provider: tasks end at once. */
export const SCENE_VIDEO = {
  queuedMs: 20,
  runningMs: 20,
  processingMs: 20,
  rateLimits: false,
  models: { 'demo-video-a': 'open' },
} as const;

/** The provider of the failing accounts, which states its reasons. */
export function failInWords(failing: Canned, text: SceneSources['text']): void {
  const overloaded = text('The server is overloaded; reduce the number of requests.');
  const refused = text('Your organization has been disabled. Contact support.');
  failing.respondWith((response, request) =>
    request.target.startsWith('/refused')
      ? jsonResponse(errorBody({ type: 'authentication_error', message: refused }), 401)(response, request)
      : jsonResponse(errorBody({ type: 'server_error', code: null, message: overloaded }), 500)(response, request),
  );
}

const errorBody = (error: object): string => JSON.stringify({ type: 'error', error });

export async function playScene(sources: SceneSources): Promise<Scene> {
  const { db, url, keys, receiver, text, beforeCall } = sources;
  const admin = adminApi(() => url, sources.token);
  receiver.respond = ({ path }) => (path.includes('broken') ? 500 : 200);
  const post = caller(url);
  const messages = [{ role: 'user', content: 'Hello' }];
  await post(keys.messages, '/v1/messages', { model: 'demo-messages', max_tokens: 200, messages });
  await post(keys.generate, '/v1/responses', { model: 'demo-generate', input: 'Hello', stream: true });
  const long = [{ role: 'user', content: 'Translate this sentence into French. '.repeat(200) }];
  const converted = { model: 'demo-responses', max_tokens: 500, stream: true, top_k: 5, messages: long };
  await post(keys.responses, '/v1/messages', { ...converted, model: text('house-model') });
  beforeCall?.();
  const request = await post(keys.responses, '/v1/messages', { ...converted, [text('unknown_field')]: 1 });
  const refused = await post(keys.messages, '/v1/messages', { model: text('unknown'), max_tokens: 200, messages });
  const rejected = await post(keys.generate, '/v1/responses', { model: 'strict-model', input: 'Hello' });
  const image = { model: 'demo-image', prompt: 'a lamp', size: '1024x1024', quality: 'low' };
  await post(keys.responses, '/v1/images/generations', image);
  const tasks = await makeTasks(sources);
  await makeAssets(sources);
  await makeObjects(sources);
  const key = await makeAdminObjects(admin, text);
  await makeDecision(db, text);
  await until('the calls in the request log', async () => {
    const rows = await db
      .selectFrom('requests')
      .select('id')
      .where('id', 'in', [request.id, refused.id, rejected.id])
      .execute();
    return rows.length === 3;
  });
  const { body } = await admin<{ data: readonly { id: string }[] }>(
    'GET',
    `/callbacks?task=${tasks.task}&state=delivered`,
  );
  return {
    request: request.id,
    refused: refused.id,
    rejected: rejected.id,
    ...tasks,
    callback: body.data[0]?.id ?? '',
    key,
    character: 'anna',
  };
}

interface Posted {
  /** Of the request. */
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const caller =
  (url: string) =>
  async (key: string | undefined, path: string, body: object): Promise<Posted> => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const given = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { id: response.headers.get('x-request-id') ?? '', body: isJson ? JSON.parse(given) : {} };
  };

/**
 * One that succeeds, one that fails, one that runs; for an operator one without usage, and two that cannot be told
 * apart.
 */
async function makeTasks({ url, keys, db, receiver, text }: SceneSources): Promise<Pick<Scene, 'task' | 'failedTask'>> {
  const create = async (words: string, more: object = {}): Promise<string> => {
    const content = [{ type: 'text', text: words }];
    const task = { model: 'demo-video-2-0-ep', content, duration: 5, resolution: '480p', ratio: '16:9', ...more };
    const { body } = await caller(url)(keys.messages, '/api/v3/contents/generations/tasks', task);
    if (typeof body.id !== 'string') throw new Error(JSON.stringify(body));
    return body.id;
  };
  const at = (path: string): object => ({
    callback_url: `${receiver.origin}/${path}?note=${encodeURIComponent(text('n'))}`,
  });
  const task = await create('A lamp at night', { ...at('hook'), return_last_frame: true });
  const failedTask = await create('[sim:fail=OutputVideoSensitiveContentDetected] A lamp', at('broken'));
  const unmetered = await create('[sim:usage=missing] A lamp');
  await create('[sim:stuck=running] A lamp in the rain', { resolution: '720p' });
  const lost = '[sim:reset; created; callbacks=dropped] A lamp';
  // With an expiry of their own, which would differ, they could be told apart.
  const equal = { model: 'demo-video-a', duration: 6, execution_expires_after: 100_000 };
  const alike = [await create(lost, equal), await create(lost, equal)];
  await until('the end of the tasks and the delivery', async () => {
    await db
      .updateTable('video_tasks')
      .set({ next_check_at: new Date(0) })
      .where('next_check_at', 'is not', null)
      .execute();
    const ended = await db
      .selectFrom('video_tasks')
      .select('id')
      .where('id', 'in', [task, failedTask, unmetered])
      .where('finished_at', 'is not', null)
      .execute();
    const open = await db
      .selectFrom('video_tasks')
      .select('id')
      .where('id', 'in', alike)
      .where('candidates', 'is not', null)
      .execute();
    const delivered = receiver.deliveries.filter(({ body }) => body.includes('"succeeded"'));
    return ended.length === 3 && open.length === 2 && delivered.length > 0;
  });
  const failure = {
    code: 'OutputVideoSensitiveContentDetected',
    message: text('The output may contain sensitive content.'),
  };
  await db
    .updateTable('video_tasks')
    .set({ error: JSON.stringify(failure) })
    .where('id', '=', failedTask)
    .execute();
  return { task, failedTask };
}

async function makeAssets({ url, keys, text }: SceneSources): Promise<void> {
  const post = caller(url);
  const { body: group } = await post(keys.messages, '/v1/asset-groups', {
    name: text('Autumn campaign'),
    model: 'demo-video-a',
  });
  for (const name of ['Brass lamp', 'Walnut table'])
    await post(keys.messages, '/v1/assets', {
      name: text(name),
      url: 'https://example.com/lamp.png',
      asset_type: 'Image',
      group_id: group.id,
    });
}

/** Files, a batch that has ended and a conversation. */
async function makeObjects({ url, keys, text }: SceneSources): Promise<void> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: keys.responses, maxRetries: 0 });
  const upload = async (name: string, content: Buffer, purpose: 'user_data' | 'batch') =>
    client.files.create({ file: await toFile(content, text(name)), purpose });
  await upload('Product sheet.pdf', Buffer.alloc(1_500_000), 'user_data');
  const body = { model: 'demo-responses', input: 'Hello' };
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/responses', body });
  const { id } = await upload('questions.jsonl', Buffer.from(line), 'batch');
  const endpoint = '/v1/responses';
  const batch = await client.batches.create({ input_file_id: id, endpoint, completion_window: '24h' });
  await client.conversations.create({ items: [{ type: 'message', role: 'user', content: text('Hello') }] });
  await until('the end of the batch', async () => (await client.batches.retrieve(batch.id)).status === 'completed');
}

/** Returns the id of a key with limits. */
async function makeAdminObjects(admin: AdminApi, text: SceneSources['text']): Promise<string> {
  await admin('POST', '/credits', {
    user: 'ana',
    amount: '25.50',
    reason: text('Bank transfer'),
    reference: text('invoice-1'),
  });
  await admin('POST', '/accounts/demo-video-hc/park', { reason: text('Contract ends') });
  await admin('POST', '/characters', {
    id: 'anna',
    name: text('Anna, presenter'),
    group: 'video-ep',
    models: ['demo-video-2-0-*'],
    upstream_asset: 'asset-20260101000000-prst1',
    tags: [text('studio')],
    licence: text('internal use'),
  });
  const limits = { rpm: 60, spend_day: '5', models: [text('demo-*'), 'demo-responses'] };
  const { body } = await admin('POST', '/keys', { user: 'ana', group: 'responses', name: text('ci'), ...limits });
  return String(body.id);
}

/** A usage record that cannot be right. */
async function makeDecision(db: Db, text: SceneSources['text']): Promise<void> {
  const id = newRecordId();
  const raw = JSON.stringify({ id, userId: 'ana', model: text('demo-messages'), usage: { input: -1 }, nanos: '5' });
  await db.insertInto('usage_quarantine').values({ id, fault: 'input is negative', raw }).execute();
}
