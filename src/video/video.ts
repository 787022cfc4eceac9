/** Video tasks: their services bound once, and the operations on them. */
import type { Key } from '../access/keys/index.ts';
import type { Account } from '../catalog/index.ts';
import { derive, fail, isPublicAddress, newId } from '../core/index.ts';
import type { Job, StoreServices, Tx } from '../platform/db/index.ts';
import type { HttpStack } from '../platform/http/index.ts';
import { PublicFetcher } from '../platform/outbound/index.ts';
import type { Call, ClientStreamLimits } from '../platform/web/index.ts';
import type { UpstreamClient } from '../providers/upstream/index.ts';
import type { CallerCallback, TaskCharge, TaskEstimate } from '../schemas/index.ts';
import { type Assets, createAssets } from './assets/assets.ts';
import { reconcileAssets } from './assets/reconcile.ts';
import { expireDeleted } from './assets/rows.ts';
import { Deliverer } from './callbacks/deliverer.ts';
import { expireCallbacks } from './callbacks/expire.ts';
import {
  attemptsOf,
  type CallbackFilter,
  findCallbackEvent,
  listCallbackEvents,
  ownCallbackDetail,
  ownCallbackView,
  redeliverOwn,
} from './callbacks/own.ts';
import type { CallbackEventRow } from './callbacks/redeliver.ts';
import { type TestDelivery, testCallback } from './callbacks/test-event.ts';
import {
  type CharacterFilter,
  type CharacterPage,
  type CharacterRow,
  characterView,
  findCharacter,
  findCharacters,
  findPreview,
  type Preview,
} from './characters/catalog.ts';
import { expireRecords } from './idempotency/records.ts';
import { VIDEO_WORK } from './open-work.ts';
import { createLinks, type LinkedResult, type SignedLinks } from './results/links.ts';
import { mirrorDue } from './results/mirror-job.ts';
import { hasLastFrame, type ResultKind } from './results/result.ts';
import { type MirrorSettings, Results } from './results/results.ts';
import type { VideoServices } from './services.ts';
import { createSessions, type Sessions } from './sessions/sessions.ts';
import { estimateTask, type TaskInput } from './tasks/accepted-request.ts';
import { expireTasks } from './tasks/apply.ts';
import { chargeOfTask } from './tasks/charge.ts';
import { type CreateInput, createTask } from './tasks/create.ts';
import { type AssignedTask, assignSubmission, type DecidedTask, dismissSubmission } from './tasks/decide-submission.ts';
import { deleteTask } from './tasks/delete.ts';
import { Follower } from './tasks/follow.ts';
import type { CreatedTask } from './tasks/order.ts';
import { onProviderReport, reconcileSubmissions } from './tasks/reconcile.ts';
import { recoverSubmissions } from './tasks/recover.ts';
import { type ResolvedReview, type ReviewDecision, resolveReview } from './tasks/resolve-review.ts';
import {
  type CursorPage,
  findTask,
  isTaskId,
  listTasks,
  listTasksAfter,
  type TaskFilter,
  type TaskPage,
  type TaskRow,
} from './tasks/task.ts';
import { effectiveParameters, taskView, videoView } from './tasks/view.ts';
import { TaskWatcher } from './tasks/watch.ts';
import { traitsOf } from './upstream/adapters.ts';
import { assetLibraries } from './upstream/asset-libraries.ts';
import { VideoProvider } from './upstream/client.ts';

export interface VideoOptions
  extends StoreServices,
    Pick<VideoServices, 'catalog' | 'pool' | 'threads' | 'publicUrl' | 'allowedOrigins'> {
  /** The pepper of the installation. */
  readonly pepper: Buffer;
  readonly upstream: UpstreamClient;
  readonly httpStack: HttpStack;
  readonly streamLimits: ClientStreamLimits;
  /** Undefined: results are not mirrored. */
  readonly mirror: MirrorSettings | undefined;
  /** How long signed links work; 0: there are none. */
  readonly linkSeconds: number;
}

export interface Video {
  createTask(key: Key, input: CreateInput): Promise<CreatedTask>;
  /** The most that the task of a request can cost. Rejects what `createTask` rejects, and creates nothing. */
  estimateTask(key: Key, input: TaskInput): Promise<TaskEstimate>;
  /** Throws `task_not_found`, alike for missing and foreign tasks. */
  getTask(owner: Pick<Key, 'userId'>, id: string): Promise<TaskRow>;
  /** The task as it is now. Throws `task_not_found` when it was deleted. */
  readAgain(task: TaskRow): Promise<TaskRow>;
  /** Waits for a newer version of the task; false when the time is up or the caller disconnected. */
  waitForChange(task: TaskRow, waitMs: number, onCancel: (cancel: () => void) => void): Promise<boolean>;
  /** The server stops: requests that wait for a change get the task as it is. */
  endWaits(): void;
  readonly hasEndedWaits: boolean;
  listTasks(filter: TaskFilter, page: { number: number; size: number }): Promise<TaskPage>;
  listTasksAfter(filter: TaskFilter, page: CursorPage): Promise<readonly TaskRow[]>;
  deleteTask(key: Key, id: string): Promise<void>;
  /** Sends the video or the last frame of the task, whole or in part. */
  deliverResult(call: Call, task: TaskRow, kind: ResultKind): Promise<void>;
  /** With signed links of this key, if one is given. */
  taskView(task: TaskRow, linkKey?: Key): object;
  hasLastFrame(task: TaskRow): boolean;
  effectiveParameters(task: TaskRow): object;
  chargeOf(task: TaskRow): Promise<TaskCharge | null>;
  videoView(task: TaskRow): object;
  readonly links: {
    /** Throws when links are switched off, or when the task has no results. */
    create(task: TaskRow, key: Key): SignedLinks;
    revoke(task: TaskRow): Promise<void>;
    /** Undefined when the link is forged, over or revoked, or when its key has ended. */
    open(taskId: string, file: string, token: string): Promise<LinkedResult | undefined>;
  };
  readonly callbacks: {
    list(
      filter: CallbackFilter,
      page: { after: string | undefined; limit: number },
    ): Promise<readonly CallbackEventRow[]>;
    find(owner: Pick<Key, 'userId'>, id: string): Promise<CallbackEventRow | undefined>;
    redeliver(owner: Pick<Key, 'userId'>, id: string): Promise<CallbackEventRow | 'pending' | undefined>;
    view(event: CallbackEventRow): CallerCallback;
    detail(event: CallbackEventRow): Promise<CallerCallback>;
  };
  readonly assets: Assets;
  readonly sessions: Sessions;
  readonly characters: {
    list(key: Key, filter: CharacterFilter, page: CharacterPage): Promise<readonly CharacterRow[]>;
    find(key: Key, publicId: string, model?: string): Promise<CharacterRow | undefined>;
    view(character: CharacterRow): object;
    preview(publicId: string): Promise<Preview | undefined>;
  };
  /** A provider reported a task on its secret path. False when no open task has the path. */
  onProviderReport(token: string, report: unknown): Promise<boolean>;
  /** An operator ends the review of a task, in the transaction of the audit line. */
  resolveReview(tx: Tx, taskId: string, decision: ReviewDecision): Promise<ResolvedReview>;
  /** An operator binds an unknown submission to a task of the provider; `record` runs in the transaction. */
  assignSubmission(assignment: Parameters<typeof assignSubmission>[1]): Promise<AssignedTask>;
  /** An operator gives an unknown submission up, in the transaction of the audit line. */
  dismissSubmission(tx: Tx, taskId: string): Promise<DecidedTask>;
  /** Sends a test event to the callback URL of the task, once. */
  testCallback(userId: string, taskId: string): Promise<TestDelivery | 'no_task' | 'no_url'>;
  /** Background jobs. */
  readonly jobs: readonly Job[];
  close(): Promise<void>;
}

export function createVideo(options: VideoOptions): Video {
  const { db, upstream, clock, publicUrl } = options;
  const services: VideoServices = {
    ...options,
    secret: derive(options.pepper.toString('base64'), 'dragoman-video-v1'),
    provider: new VideoProvider(upstream),
    assetProvider: assetLibraries(options),
    replicaId: newId('req'),
    callbackUrlFor: (account, secret) =>
      canReport(publicUrl(), account) ? `${publicUrl()}/upstream/callbacks/${secret}` : undefined,
  };
  const follower = new Follower(services);
  const fetcher = new PublicFetcher({ allow: options.allowedOrigins, clock, stack: options.httpStack });
  const callbackServices = { ...services, fetcher };
  const deliverer = new Deliverer(callbackServices);
  const watcher = new TaskWatcher(services);
  const { sessions, jobs: sessionJobs } = createSessions(services);
  const links = createLinks(options);
  const results = new Results({ ...services, upstream, streamLimits: options.streamLimits, mirror: options.mirror });
  const readTask = async (userId: string, id: string): Promise<TaskRow> => {
    const task = isTaskId(id) ? await findTask(db, userId, id) : undefined;
    if (!task) throw fail('task_not_found');
    return task;
  };
  return {
    createTask: (key, input) => createTask(services, key, input),
    estimateTask: (key, input) => estimateTask(services, key, input),
    getTask: ({ userId }, id) => readTask(userId, id),
    readAgain: ({ user_id, id }) => readTask(user_id, id),
    waitForChange: (task, waitMs, onCancel) => watcher.next(task, waitMs, onCancel),
    endWaits: () => watcher.end(),
    get hasEndedWaits() {
      return watcher.hasEnded;
    },
    listTasks: (filter, page) => listTasks(db, filter, page),
    listTasksAfter: (filter, page) => listTasksAfter(db, filter, page),
    async deleteTask(key, id) {
      const task = await readTask(key.userId, id);
      await deleteTask(services, task);
      await results.forget(task);
    },
    deliverResult: (call, task, kind) => results.deliver(call, task, kind),
    taskView: (task, linkKey) => taskView(task, publicUrl(), linkKey && links.createIfReadable(task, linkKey)),
    hasLastFrame,
    effectiveParameters,
    chargeOf: (task) => chargeOfTask(db, task),
    videoView,
    links,
    callbacks: {
      list: (filter, page) => listCallbackEvents(db, filter, page),
      find: ({ userId }, id) => findCallbackEvent(db, userId, id),
      redeliver: ({ userId }, id) => redeliverOwn(db, userId, id),
      view: ownCallbackView,
      detail: async (event) => ownCallbackDetail(event, await attemptsOf(db, event)),
    },
    assets: createAssets(services),
    sessions,
    characters: {
      list: (key, filter, page) => findCharacters({ db, catalog: options.catalog() }, key, filter, page),
      find: (key, publicId, model) => findCharacter({ db, catalog: options.catalog() }, key, publicId, model),
      view: (character) => characterView(character, options.catalog(), publicUrl()),
      preview: (publicId) => findPreview(db, publicId),
    },
    onProviderReport: (token, report) => onProviderReport(services, token, report),
    resolveReview: (tx, taskId, decision) => resolveReview(services, tx, taskId, decision),
    assignSubmission: (assignment) => assignSubmission(services, assignment),
    dismissSubmission: (tx, taskId) => dismissSubmission(services, tx, taskId),
    testCallback: (userId, taskId) => testCallback(callbackServices, userId, taskId),
    jobs: [...jobsOf(services, { follower, deliverer, results }, options.mirror), ...sessionJobs],
    close: async () => {
      await Promise.all([follower.stop(), deliverer.stop(), results.close()]);
    },
  };
}

interface Loops {
  readonly follower: Follower;
  readonly deliverer: Deliverer;
  readonly results: Results;
}

function jobsOf(
  services: VideoServices,
  { follower, deliverer, results }: Loops,
  mirror: MirrorSettings | undefined,
): Job[] {
  const { tasks, callbacks, assets } = VIDEO_WORK;
  return [
    { name: 'tasks.recover', everyMs: 5_000, needs: tasks, run: () => recoverSubmissions(services) },
    { name: 'tasks.reconcile', everyMs: 2_000, needs: tasks, run: once(() => reconcileSubmissions(services)) },
    { name: 'tasks.follow', everyMs: 1_000, needs: tasks, run: once(() => follower.run()) },
    { name: 'tasks.expire', everyMs: 60_000, run: () => expireTasks(services) },
    { name: 'callbacks.deliver', everyMs: 1_000, needs: callbacks, run: once(() => deliverer.run()) },
    { name: 'callbacks.expire', everyMs: 600_000, run: () => expireCallbacks(services.db) },
    ...resultJobs(services, results, mirror),
    { name: 'assets.reconcile', everyMs: 2_000, needs: assets, run: once(() => reconcileAssets(services)) },
    { name: 'assets.expire', everyMs: 600_000, run: () => expireDeleted(services.db) },
    { name: 'idempotency.expire', everyMs: 600_000, run: () => expireRecords(services.db) },
  ];
}

/** The next run waits for its time, whatever this one did. */
const once = (run: () => Promise<unknown>) => async (): Promise<number> => {
  await run();
  return 0;
};

function resultJobs(services: VideoServices, results: Results, settings: MirrorSettings | undefined): Job[] {
  const { mirror } = results;
  if (!mirror) return [];
  const clean: Job = { name: 'results.clean', everyMs: 600_000, run: () => mirror.cleanUp() };
  const run = () => mirrorDue({ ...services, results });
  const due: Job = { name: 'results.mirror', everyMs: 2_000, needs: VIDEO_WORK.results, run };
  return settings?.atSuccess ? [clean, due] : [clean];
}

/** A provider can report only to a public HTTPS address; one on this machine, such as the simulator, can report to any. */
export function canReport(publicUrl: string, account: Pick<Account, 'baseUrl' | 'adapter'>): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  const isLiteral = /^[\d.]+$|^\[/.test(hostname);
  if (protocol === 'https:' && hostname !== 'localhost' && (!isLiteral || isPublicAddress(hostname))) return true;
  return (
    traitsOf(account).reportsToPrivateUrls && /^(?:127\.|localhost$|\[::1\]$)/.test(new URL(account.baseUrl).hostname)
  );
}
