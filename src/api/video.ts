/** Operations of document 2 on video tasks: requests in, objects out. What a task is and does is in src/video. */
import { fail } from '../core/index.ts';
import type { Caller } from '../gateway/index.ts';
import { acquireSlot, type Limiter } from '../pool/index.ts';
import {
  ENDPOINTS,
  LIST_LIMIT,
  type OfferedVideoOperation,
  TASK_LIST,
  TASK_STATUSES,
  VIDEO_REQUESTS_PER_MINUTE,
} from '../rules/index.ts';
import { readIdempotencyKey, type TaskEntry, type TaskFilter, type TaskRow, type Video } from '../video/index.ts';
import { type BodyBudget, type Call, expectJson, readBody, sendJson, sendNoContent } from '../web/index.ts';
import { QueryReader } from './query.ts';

export interface VideoApiServices {
  readonly video: Video;
  readonly limiter: Limiter;
  readonly bodyBudget: BodyBudget;
  /** Largest body of a create request, in bytes. */
  readonly videoBodyLimit: number;
}

type VideoHandler = (services: VideoApiServices, call: Call, caller: Caller) => Promise<void>;

/** The compiler demands one for every row that is not marked `planned`. */
const HANDLERS: Readonly<Record<OfferedVideoOperation, VideoHandler>> = {
  'tasks.create': createWith('tasks'),
  'tasks.list': listTasks,
  'tasks.get': getTask,
  'tasks.delete': deleteTask,
  'videos.create': createWith('videos'),
  'videos.list': listVideos,
  'videos.get': getVideo,
  'videos.delete': deleteVideo,
};

export async function handleVideo(
  services: VideoApiServices,
  call: Call,
  caller: Caller,
  operation: OfferedVideoOperation,
): Promise<void> {
  const rpm = VIDEO_REQUESTS_PER_MINUTE[ENDPOINTS[operation].rate];
  await acquireSlot(services.limiter, call, caller.key, { operation, rpm });
  return HANDLERS[operation](services, call, caller);
}

function createWith(entry: TaskEntry): VideoHandler {
  return async ({ video, bodyBudget, videoBodyLimit }, call, { key }) => {
    const keyHash = readIdempotencyKey(call);
    expectJson(call);
    bodyBudget.reserve(call, videoBodyLimit);
    const bytes = await readBody(call, videoBodyLimit);
    const { status, task } = await video.createTask(key, { entry, bytes, keyHash });
    call.addLogFields({ task: task.id, model: task.model });
    // SDKs retry some statuses by themselves; an unconfirmed task must not be sent again (V 4.2 r3).
    const headers: Record<string, string> = status === 202 ? { 'x-should-retry': 'false' } : {};
    sendJson(call, status, entry === 'tasks' ? { id: task.id } : video.videoView(task), headers);
  };
}

async function getTask({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  sendJson(call, 200, video.taskView(await video.getTask(key, taskIdIn(call))));
}

async function deleteTask({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  await video.deleteTask(key, taskIdIn(call));
  sendNoContent(call);
}

async function listTasks({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  const query = new QueryReader(call.query);
  const page = {
    number: query.integer('page_num', TASK_LIST.pageNumber),
    size: query.integer('page_size', TASK_LIST.pageSize),
  };
  const filter: TaskFilter = {
    userId: key.userId,
    statuses: query.words('filter.status', TASK_STATUSES),
    ids: query.texts('filter.task_ids', TASK_LIST.maxTaskIds),
    model: query.text('filter.model'),
    serviceTier: query.text('filter.service_tier'),
  };
  query.rejectUnknown();
  const { items, total } = await video.listTasks(filter, page);
  sendJson(call, 200, { items: items.map((task) => video.taskView(task)), total });
}

/** Time until the next poll, in milliseconds; some SDKs read it. */
const POLL_AFTER = { 'openai-poll-after-ms': '5000' } as const;

async function getVideo({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  sendJson(call, 200, video.videoView(await video.getTask(key, taskIdIn(call))), POLL_AFTER);
}

async function deleteVideo({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  const id = taskIdIn(call);
  await video.deleteTask(key, id);
  sendJson(call, 200, { id, object: 'video.deleted', deleted: true });
}

async function listVideos({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  const query = new QueryReader(call.query);
  const limit = query.integer('limit', LIST_LIMIT);
  const order = query.words('order', ['asc', 'desc'] as const)?.[0] ?? 'desc';
  const afterId = query.text('after');
  query.rejectUnknown();
  const after = afterId === undefined ? undefined : await cursorTask(video, key, afterId);
  const rows = await video.listTasksAfter({ userId: key.userId }, { after, limit, order });
  const page = rows.slice(0, limit);
  sendJson(call, 200, {
    object: 'list',
    data: page.map((task) => video.videoView(task)),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: rows.length > limit,
  });
}

async function cursorTask(video: Video, key: Caller['key'], id: string): Promise<TaskRow> {
  return video.getTask(key, id).catch(() => {
    throw fail('invalid_request', `after: "${id.slice(0, 80)}" is not the id of a task in this list.`, {
      param: 'after',
    });
  });
}

const taskIdIn = (call: Call): string => call.params.task_id ?? '';
