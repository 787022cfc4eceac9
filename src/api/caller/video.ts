/** Operations of document 2 on video tasks: requests in, objects out. What a task is and does is in src/video. */
import { ApiError, type Clock, failAt } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { type BodyBudget, type Call, expectJson, readBody, sendJson, sendNoContent } from '../../platform/web/index.ts';
import { acquireSlot, type Limiter } from '../../providers/pool/index.ts';
import { ENDPOINTS, type OfferedVideoOperation, VIDEO_QUERIES, VIDEO_REQUESTS_PER_MINUTE } from '../../rules/index.ts';
import {
  isTaskId,
  readIdempotencyKey,
  type TaskEntry,
  type TaskFilter,
  type TaskRow,
  type Video,
} from '../../video/index.ts';
import { ASSET_HANDLERS } from './assets.ts';
import { getOwnCallback, listOwnCallbacks, redeliverOwnCallback, testOwnCallback } from './callbacks.ts';
import { getPublicCharacter, listPublicCharacters } from './characters.ts';
import { sendList } from './list.ts';
import { readVideoQuery } from './query.ts';
import { createResultLinks, linkKeyOf, revokeResultLinks } from './result-links.ts';
import { createAuthorizationSession, getAuthorizationSession } from './sessions.ts';
import { streamTask, waitForChange, wantsEvents } from './video-wait.ts';

export interface VideoApiServices {
  readonly video: Video;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly bodyBudget: BodyBudget;
  /** Largest body of a create request, in bytes. */
  readonly videoBodyLimit: number;
}

type VideoHandler = (services: VideoApiServices, call: Call, caller: Caller) => Promise<void>;

/** The compiler demands one for every row that is not marked `planned`. */
const HANDLERS: Readonly<Record<OfferedVideoOperation, VideoHandler>> = {
  'tasks.create': createWith('tasks'),
  'tasks.estimate': estimateWith('tasks'),
  'tasks.list': listTasks,
  'tasks.get': getTask,
  'tasks.delete': deleteTask,
  'videos.create': createWith('videos'),
  'videos.estimate': estimateWith('videos'),
  'videos.list': listVideos,
  'videos.get': getVideo,
  'videos.delete': deleteVideo,
  'videos.content': sendVideo,
  'videos.lastFrame': sendLastFrame,
  'links.create': createResultLinks,
  'links.revoke': revokeResultLinks,
  'callbacks.list': listOwnCallbacks,
  'callbacks.get': getOwnCallback,
  'callbacks.redeliver': redeliverOwnCallback,
  'callbacks.test': testOwnCallback,
  ...ASSET_HANDLERS,
  'sessions.create': createAuthorizationSession,
  'sessions.get': getAuthorizationSession,
  'characters.list': listPublicCharacters,
  'characters.get': getPublicCharacter,
};

export async function handleVideo(
  services: VideoApiServices,
  call: Call,
  caller: Caller,
  operation: OfferedVideoOperation,
): Promise<void> {
  const rpm = VIDEO_REQUESTS_PER_MINUTE[ENDPOINTS[operation].rate];
  await acquireSlot(services.limiter, call, caller.key, { operation, rpm });
  const id = taskIdIn(call);
  // Any other text in the path is the client's and not logged.
  if (isTaskId(id)) call.addLogFields({ task: id });
  return HANDLERS[operation](services, call, caller);
}

function createWith(entry: TaskEntry): VideoHandler {
  return async (services, call, { key }) => {
    const { video } = services;
    const keyHash = readIdempotencyKey(call);
    expectJson(call);
    const { status, task } = await withBody(services, call, (bytes) =>
      video.createTask(key, { entry, bytes, keyHash }),
    );
    call.addLogFields({ task: task.id, model: task.model });
    // SDKs retry some statuses by themselves; an unconfirmed task must not be sent again (V 4.2 r3).
    const headers: Record<string, string> = status === 202 ? { 'x-should-retry': 'false' } : {};
    sendJson(call, status, entry === 'tasks' ? { id: task.id } : video.videoView(task), headers);
  };
}

/** Checks and prices the body of a create request; nothing is created, held or sent. */
function estimateWith(entry: TaskEntry): VideoHandler {
  return async (services, call, { key }) => {
    expectJson(call);
    const estimate = await withBody(services, call, (bytes) => services.video.estimateTask(key, { entry, bytes }));
    call.addLogFields({ model: estimate.model });
    sendJson(call, 200, estimate);
  };
}

/** The body stays in the budget until the work with it is done: that goes on after the client has disconnected. */
async function withBody<T>(
  { bodyBudget, videoBodyLimit }: VideoApiServices,
  call: Call,
  use: (bytes: Buffer) => Promise<T>,
): Promise<T> {
  const reservation = bodyBudget.open(call.owner);
  try {
    return await use(await readBody(call, videoBodyLimit, { reservation }));
  } finally {
    reservation.release();
  }
}

async function getTask({ video, clock }: VideoApiServices, call: Call, caller: Caller): Promise<void> {
  const { wait, include } = readVideoQuery(call.query, VIDEO_QUERIES['tasks.get']);
  const linkKey = linkKeyOf(call, caller);
  const task = await findTask(video, call, caller.key);
  if (wantsEvents(call)) return streamTask({ video, clock }, call, task);
  const current = await waitForChange(video, call, task, wait);
  const more = {
    ...(include?.includes('parameters') && { parameters: video.effectiveParameters(current) }),
    ...(include?.includes('charge') && { charge: await video.chargeOf(current) }),
  };
  sendJson(call, 200, { ...video.taskView(current, linkKey), ...more }, pollHint(current));
}

async function deleteTask({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  await video.deleteTask(key, taskIdIn(call));
  sendNoContent(call);
}

async function listTasks({ video }: VideoApiServices, call: Call, caller: Caller): Promise<void> {
  const { key } = caller;
  const linkKey = linkKeyOf(call, caller);
  const query = readVideoQuery(call.query, VIDEO_QUERIES['tasks.list']);
  const page = { number: query.page_num, size: query.page_size };
  const filter: TaskFilter = {
    userId: key.userId,
    statuses: query['filter.status'],
    ids: query['filter.task_ids'],
    model: query['filter.model'],
    serviceTier: query['filter.service_tier'],
  };
  const { items, total } = await video.listTasks(filter, page);
  sendJson(call, 200, { items: items.map((task) => video.taskView(task, linkKey)), total });
}

async function getVideo({ video }: VideoApiServices, call: Call, caller: Caller): Promise<void> {
  const { wait, include } = readVideoQuery(call.query, VIDEO_QUERIES['videos.get']);
  const task = await waitForChange(video, call, await findTask(video, call, caller.key), wait);
  const more = include && { charge: await video.chargeOf(task) };
  sendJson(
    call,
    200,
    { ...video.videoView(task), ...more },
    {
      ...pollHint(task),
      'openai-poll-after-ms': String(POLL_SECONDS * 1_000),
    },
  );
}

/** Seconds until the next poll of an unfinished task, for clients that read such hints. */
const POLL_SECONDS = 5;
const pollHint = ({ finished_at }: TaskRow): Record<string, string> =>
  finished_at === null ? { 'retry-after': String(POLL_SECONDS) } : {};

async function deleteVideo({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  const id = taskIdIn(call);
  await video.deleteTask(key, id);
  sendJson(call, 200, { id, object: 'video.deleted', deleted: true });
}

async function listVideos({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  const { limit, order, after } = readVideoQuery(call.query, VIDEO_QUERIES['videos.list']);
  if (after !== undefined) await checkCursor(video, key, after);
  const rows = await video.listTasksAfter({ userId: key.userId }, { after, limit, order });
  sendList(call, rows, { limit, view: (task) => video.videoView(task), id: ({ id }) => id });
}

async function checkCursor(video: Video, key: Caller['key'], id: string): Promise<void> {
  try {
    await video.getTask(key, id);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'task_not_found')) throw error;
    throw failAt('invalid_request', 'after', `"${id.slice(0, 80)}" is not the id of a task in this list.`);
  }
}

/** The task that the path names, noted in the log line. */
async function findTask(video: Video, call: Call, key: Caller['key']): Promise<TaskRow> {
  const task = await video.getTask(key, taskIdIn(call));
  call.addLogFields({ task: task.id, model: task.model });
  return task;
}

const taskIdIn = (call: Call): string => call.params.task_id ?? '';

/** Results of video tasks (V 4.6); src/video delivers the bytes. */
async function sendVideo({ video }: Pick<VideoApiServices, 'video'>, call: Call, { key }: Caller): Promise<void> {
  const { variant } = readVideoQuery(call.query, VIDEO_QUERIES['videos.content']);
  if (variant !== undefined && variant !== 'video' && variant !== 'thumbnail')
    throw unsupported('only "video" and "thumbnail" are available');
  const task = await video.getTask(key, call.params.task_id ?? '');
  const isThumbnail = variant === 'thumbnail';
  if (isThumbnail && !video.hasLastFrame(task))
    throw unsupported('the thumbnail is the last frame, and this task has none; create it with return_last_frame');
  await video.deliverResult(call, task, isThumbnail ? 'last_frame' : 'video');
}

const unsupported = (problem: string) => failAt('unsupported_video_parameter', 'variant', `${problem}.`);

async function sendLastFrame({ video }: Pick<VideoApiServices, 'video'>, call: Call, { key }: Caller): Promise<void> {
  readVideoQuery(call.query, VIDEO_QUERIES['videos.lastFrame']);
  await video.deliverResult(call, await video.getTask(key, call.params.task_id ?? ''), 'last_frame');
}
