/**
 * Results of video tasks in tests: tasks that succeed, reads of their results, and downloads at the simulated provider.
 */
import assert from 'node:assert/strict';
import type { VideoEntry } from '../../sim/video/journal.ts';
import { callVideo, KEYS, TASKS, type TestVariant, taskBody, textItem, type VideoFixture } from './video.ts';
import { until } from './wait.ts';

export const contentPath = (id: string): string => `/v1/videos/${id}/content`;
export const lastFramePath = (id: string): string => `/v1/videos/${id}/last-frame`;

interface Wanted {
  readonly variant?: TestVariant;
  /** Trigger of the simulated provider. */
  readonly words?: string;
  readonly body?: object;
  /** The status to wait for; `undefined` only creates the task. */
  readonly until?: string | undefined;
}

/** Creates a task and waits for its success. */
export async function succeed({ gateway }: VideoFixture, wanted: Wanted = {}): Promise<string> {
  const { variant = 'EP', words = '', body = {} } = wanted;
  const status = 'until' in wanted ? wanted.until : 'succeeded';
  // Each fault is a trigger of its own: the words about the task, and those about its downloads.
  const [about = '', faults] = words.split(/;?\s*(?=on=)/);
  const prompt = [about, faults].filter((text) => text).map((text) => `[sim:${text}]`);
  const created = await callVideo(gateway.url, TASKS, {
    body: taskBody(variant, { content: [textItem(prompt.join(' ') || 'A lighthouse')], ...body }),
  });
  assert.equal(created.status, 200, JSON.stringify(created.body));
  const id = String(created.body.id);
  upstreamIds.set(id, (await rowOf(gateway, id)).upstream_id ?? '');
  const { db } = gateway.context.database;
  await until(`${id} to be ${status}`, async () => {
    if (status === undefined) return true;
    const due = db.updateTable('video_tasks').set({ next_check_at: new Date(0) });
    await due.where('id', '=', id).where('next_check_at', 'is not', null).execute();
    return (await rowOf(gateway, id)).status === status;
  });
  return id;
}

const rowOf = ({ context }: VideoFixture['gateway'], id: string) =>
  context.database.db.selectFrom('video_tasks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/** The address that the gateway has stored. */
export async function upstreamUrl(
  { gateway }: VideoFixture,
  id: string,
  kind: 'video' | 'last_frame' = 'video',
): Promise<string> {
  const row = await rowOf(gateway, id);
  return (kind === 'video' ? row.result_url : row.last_frame_url) ?? assert.fail('no address');
}

/** The calls about a task that the provider has received: downloads of its results, or reads of the task. */
export const callsOf = ({ sim }: Pick<VideoFixture, 'sim'>, id: string, operation: 'download' | 'get'): VideoEntry[] =>
  sim.video.journal.requests.filter((call) => call.operation === operation && call.taskId === upstreamIds.get(id));

/** Ids at the provider, by our ids. */
const upstreamIds = new Map<string, string>();

export interface ResultResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
  /** Code of the error. */
  readonly error: string | undefined;
}

interface ResultRequest {
  readonly key?: string;
  readonly method?: string;
  readonly range?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function readResult(
  { gateway }: { readonly gateway: { readonly url: string } },
  path: string,
  { key = KEYS.ana, method = 'GET', range, headers }: ResultRequest = {},
): Promise<ResultResponse> {
  const response = await fetch(gateway.url + path, {
    method,
    redirect: 'manual',
    headers: { authorization: `Bearer ${key}`, ...(range !== undefined && { range }), ...headers },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && bytes.length > 0;
  const text = isJson ? bytes.toString('utf8') : '';
  const error = isJson ? (JSON.parse(text) as { error?: { code?: string } }).error?.code : undefined;
  return { status: response.status, headers: response.headers, bytes, text, error };
}

/** Reads the first bytes of a result and disconnects. */
export async function leaveEarly({ gateway }: VideoFixture, path: string): Promise<void> {
  const stop = new AbortController();
  const response = await fetch(gateway.url + path, {
    headers: { authorization: `Bearer ${KEYS.ana}` },
    signal: stop.signal,
  });
  await response.body?.getReader().read();
  stop.abort();
}
