/** Operations of document 2 on video tasks: requests in, objects out. What a task is and does is in src/video. */
import { ApiError, type Clock, fail, failAt } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { type BodyBudget, type Call, expectJson, readBody, sendJson, sendNoContent } from '../../platform/web/index.ts';
import { acquireSlot, type Limiter } from '../../providers/pool/index.ts';
import * as rules from '../../rules/index.ts';
import {
  isTaskId,
  readIdempotencyKey,
  type TaskEntry,
  type TaskFilter,
  type TaskRow,
  type Video,
} from '../../video/index.ts';
import { ASSET_HANDLERS } from './assets.ts';
import { CALLBACK_HANDLERS } from './callbacks.ts';
import { type QueryValues, readVideoQuery, sendList, type VideoHandler } from './query.ts';
import { LINK_HANDLERS, linkKeyOf } from './result-links.ts';
import { streamTask, waitForChange, wantsEvents } from './video-wait.ts';

export interface VideoApiServices {
  readonly video: Video;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly bodyBudget: BodyBudget;
  /** Of a user without a number of its own. */
  readonly createsPerMinute: number;
  readonly videoBodyLimit: number;
}

type OwnHandler = VideoHandler<VideoApiServices>;

/** The compiler demands one for every row that is not marked `planned`. */
const HANDLERS: Readonly<Record<rules.OfferedVideoOperation, OwnHandler>> = {
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
  ...LINK_HANDLERS,
  ...CALLBACK_HANDLERS,
  ...ASSET_HANDLERS,
};

export async function handleVideo(
  services: VideoApiServices,
  call: Call,
  caller: Caller,
  operation: rules.OfferedVideoOperation,
): Promise<void> {
  const rpm = rateOf(services, caller, rules.ENDPOINTS[operation].rate);
  const endUser = endUserOf(call, caller.key);
  const name = endUser === undefined ? operation : `${operation}:${endUser}`;
  await acquireSlot(services.limiter, call, caller.key, { operation: name, rpm });
  const id = taskIdIn(call);
  // Any other text in the path is the client's and not logged.
  if (isTaskId(id)) call.addLogFields({ task: id });
  return HANDLERS[operation](services, call, caller);
}

const rateOf = ({ createsPerMinute }: VideoApiServices, { key }: Caller, rate: rules.VideoRateName): number =>
  rate === 'create' ? (key.videoCreates ?? createsPerMinute) : rules.VIDEO_REQUESTS_PER_MINUTE[rate];

/** Whom the call is for, where the operator trusts the user to say so. Anybody else's header means nothing. */
function endUserOf(call: Call, { hasEndUsers }: Caller['key']): string | undefined {
  const name = hasEndUsers ? call.header(rules.END_USER_HEADER) : undefined;
  if (name !== undefined && (name === '' || name.length > rules.MAX_END_USER_CHARS))
    throw fail('invalid_request', `${rules.END_USER_HEADER}: expected 1 to ${rules.MAX_END_USER_CHARS} characters.`);
  return name;
}

function labelIn(call: Call): string | undefined {
  const label = call.header(rules.LABEL_HEADER);
  if (label !== undefined && !rules.TASK_LABEL.test(label))
    throw fail('invalid_request', `${rules.LABEL_HEADER}: expected 1 to 64 visible ASCII characters without spaces.`);
  return label;
}

function createWith(entry: TaskEntry): OwnHandler {
  return async (services, call, { key }) => {
    const { video } = services;
    const keyHash = readIdempotencyKey(call);
    const names = { label: labelIn(call), endUser: endUserOf(call, key) };
    expectJson(call);
    const { status, task } = await withBody(services, call, (bytes, reserve) =>
      video.createTask(key, { entry, bytes, keyHash, reserve, ...names }),
    );
    call.addLogFields({ task: task.id, model: task.model });
    // SDKs retry some statuses by themselves; an unconfirmed task must not be sent again (V 4.2 r3).
    const headers: Record<string, string> = status === 202 ? { 'x-should-retry': 'false' } : {};
    sendJson(call, status, entry === 'tasks' ? { id: task.id } : video.videoView(task), headers);
  };
}

/** Checks and prices the body of a create request; nothing is created, held or sent. */
function estimateWith(entry: TaskEntry): OwnHandler {
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
  use: (bytes: Buffer, reserve: (bytes: number) => void) => Promise<T>,
): Promise<T> {
  const reservation = bodyBudget.open(call.owner);
  try {
    return await use(await readBody(call, videoBodyLimit, { reservation }), (bytes) => reservation.add(bytes));
  } finally {
    reservation.release();
  }
}

async function getTask({ video, clock }: VideoApiServices, call: Call, caller: Caller): Promise<void> {
  const { wait, include } = readVideoQuery(call.query, rules.VIDEO_QUERIES['tasks.get']);
  const linkKey = linkKeyOf(call, caller);
  const task = await findTask(video, call, caller.key);
  if (wantsEvents(call)) return streamTask({ video, clock }, call, task);
  const current = await waitForChange(video, call, task, wait);
  sendJson(
    call,
    200,
    { ...video.taskView(current, linkKey), ...(await withCharge(video, current, include)) },
    pollHint(current),
  );
}

type Included = QueryValues<(typeof rules.VIDEO_QUERIES)['tasks.get']>['include'];

/** What a read adds to the object of a task. */
const included = (video: Video, task: TaskRow, include: Included, charge: object | null) => ({
  ...(include?.includes('parameters') && { parameters: video.effectiveParameters(task) }),
  ...(include?.includes('expiry') && { result_expires_at: video.resultExpiry(task) ?? null }),
  ...(include?.includes('charge') && { charge }),
});
const withCharge = async (video: Video, task: TaskRow, include: Included) =>
  included(video, task, include, include?.includes('charge') ? await video.chargeOf(task) : null);

/** The same for the tasks of a page, whose charges have their sums only. */
async function includedInPage(video: Video, owner: Caller['key'], tasks: readonly TaskRow[], include: Included) {
  const holds = include?.includes('charge') ? await video.holdsOf(owner, tasks) : undefined;
  return (task: TaskRow) => {
    const hold = holds?.get(task.id);
    return included(video, task, include, hold ? { currency: 'USD', ...hold } : null);
  };
}

async function deleteTask({ video }: VideoApiServices, call: Call, { key }: Caller): Promise<void> {
  await video.deleteTask(key, taskIdIn(call));
  sendNoContent(call);
}

async function listTasks({ video }: VideoApiServices, call: Call, caller: Caller): Promise<void> {
  const { key } = caller;
  const linkKey = linkKeyOf(call, caller);
  const query = readVideoQuery(call.query, rules.VIDEO_QUERIES['tasks.list']);
  const page = { number: query.page_num, size: query.page_size };
  const filter: TaskFilter = {
    userId: key.userId,
    statuses: query['filter.status'],
    ids: query['filter.task_ids'],
    model: query['filter.model'],
    serviceTier: query['filter.service_tier'],
    labels: query['filter.label'],
  };
  const { items, total } = await video.listTasks(filter, page);
  const more = await includedInPage(video, key, items, query.include);
  sendJson(call, 200, { items: items.map((task) => ({ ...video.taskView(task, linkKey), ...more(task) })), total });
}

async function getVideo({ video }: VideoApiServices, call: Call, caller: Caller): Promise<void> {
  const { wait, include } = readVideoQuery(call.query, rules.VIDEO_QUERIES['videos.get']);
  const task = await waitForChange(video, call, await findTask(video, call, caller.key), wait);
  const more = await withCharge(video, task, include);
  sendJson(
    call,
    200,
    { ...video.videoView(task), ...more },
    { ...pollHint(task), 'openai-poll-after-ms': String(POLL_SECONDS * 1_000) },
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
  const { limit, order, after, label, include } = readVideoQuery(call.query, rules.VIDEO_QUERIES['videos.list']);
  if (after !== undefined) await checkCursor(video, key, after);
  const rows = await video.listTasksAfter({ userId: key.userId, labels: label }, { after, limit, order });
  const more = await includedInPage(video, key, rows, include);
  sendList(call, rows, { limit, view: (task) => ({ ...video.videoView(task), ...more(task) }), id: ({ id }) => id });
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
  const { variant } = readVideoQuery(call.query, rules.VIDEO_QUERIES['videos.content']);
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
  readVideoQuery(call.query, rules.VIDEO_QUERIES['videos.lastFrame']);
  await video.deliverResult(call, await video.getTask(key, call.params.task_id ?? ''), 'last_frame');
}
