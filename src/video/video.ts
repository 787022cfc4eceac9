/** Video tasks: their services bound once, and the operations on them. */
import type { Key } from '../access/keys/index.ts';
import type { ErasedUser } from '../access/people/index.ts';
import type { Account } from '../catalog/index.ts';
import { derive, fail, isPublicAddress, newId } from '../core/index.ts';
import type { Job, StoreServices } from '../platform/db/index.ts';
import { PublicFetcher } from '../platform/outbound/index.ts';
import type { Call, ClientStreamLimits } from '../platform/web/index.ts';
import type { UpstreamClient } from '../providers/upstream/index.ts';
import { createAssets } from './assets/assets.ts';
import { reconcileAssets } from './assets/reconcile.ts';
import { expireDeleted } from './assets/rows.ts';
import { callbackDefaults } from './callbacks/defaults.ts';
import { Deliverer, expireCallbacks } from './callbacks/deliverer.ts';
import { ownCallbacks } from './callbacks/own.ts';
import { testCallback } from './callbacks/send.ts';
import * as characters from './characters/catalog.ts';
import { eraseVideo } from './erase-video.ts';
import { expireRecords } from './idempotency/records.ts';
import { createFileLinks } from './input-files.ts';
import { VIDEO_WORK } from './open-work.ts';
import { createLinks } from './results/links.ts';
import { mirrorDue } from './results/mirror-job.ts';
import { hasLastFrame, type ResultKind } from './results/result.ts';
import { type MirrorSettings, Results } from './results/results.ts';
import type { VideoOwner, VideoServices } from './services.ts';
import { createSessions } from './sessions/sessions.ts';
import { estimateTask } from './tasks/accepted-request.ts';
import { expireTasks } from './tasks/apply.ts';
import { createTask } from './tasks/create.ts';
import * as decisions from './tasks/decisions.ts';
import { deleteTask } from './tasks/delete.ts';
import { Follower } from './tasks/follow.ts';
import { onProviderReport, reconcileSubmissions } from './tasks/reconcile.ts';
import { chargeOfTask, holdsOfTasks } from './tasks/settle.ts';
import { recoverSubmissions } from './tasks/submission.ts';
import * as taskRows from './tasks/task.ts';
import { effectiveParameters, resultExpiry, taskView, videoView } from './tasks/view.ts';
import { TaskWatcher } from './tasks/watch.ts';
import { traitsOf } from './upstream/adapters.ts';
import { assetLibraries } from './upstream/asset-libraries.ts';
import { VideoProvider } from './upstream/client.ts';

export interface VideoOptions
  extends StoreServices,
    Pick<VideoServices, 'catalog' | 'pool' | 'threads' | 'files' | 'publicUrl' | 'allowedOrigins' | 'pollsPerSecond'> {
  /** The pepper of the installation. */
  readonly pepper: Buffer;
  readonly upstream: UpstreamClient;
  readonly streamLimits: ClientStreamLimits;
  /** Undefined: results are not mirrored. */
  readonly mirror: MirrorSettings | undefined;
  /** How long signed links work; 0: there are none. */
  readonly linkSeconds: number;
}

export type Video = ReturnType<typeof createVideo>;

export function createVideo(options: VideoOptions) {
  const { db, upstream, clock, publicUrl, catalog } = options;
  const fetcher = new PublicFetcher({ allow: options.allowedOrigins, clock });
  const fileLinks = createFileLinks(options);
  const services: VideoServices = {
    ...options,
    media: fetcher,
    secret: derive(options.pepper.toString('base64'), 'dragoman-video-v1'),
    provider: new VideoProvider(upstream),
    assetProvider: assetLibraries(options),
    replicaId: newId('req'),
    fileLinkFor: (account, id, key) => (canReport(publicUrl(), account) ? fileLinks.make(id, key) : undefined),
    callbackUrlFor: (account, secret) =>
      canReport(publicUrl(), account) ? `${publicUrl()}/upstream/callbacks/${secret}` : undefined,
  };
  const bound = boundTo(services);
  const follower = new Follower(services);
  const callbackServices = { ...services, fetcher };
  const deliverer = new Deliverer(callbackServices);
  const watcher = new TaskWatcher(services);
  const { sessions, jobs: sessionJobs } = createSessions(services);
  const links = createLinks(options);
  const results = new Results({ ...services, upstream, streamLimits: options.streamLimits, mirror: options.mirror });
  /** Throws `task_not_found`, alike for missing, deleted and foreign tasks. */
  const readTask = async (userId: string, id: string): Promise<taskRows.TaskRow> => {
    const task = taskRows.isTaskId(id) ? await taskRows.findTask(db, userId, id) : undefined;
    if (!task) throw fail('task_not_found');
    return task;
  };
  return {
    createTask: bound(createTask),
    estimateTask: bound(estimateTask),
    getTask: ({ userId }: VideoOwner, id: string) => readTask(userId, id),
    /** The task as it is now. */
    readAgain: ({ user_id, id }: taskRows.TaskRow) => readTask(user_id, id),
    watcher,
    listTasks: boundTo(db)(taskRows.listTasks),
    listTasksAfter: boundTo(db)(taskRows.listTasksAfter),
    async deleteTask(key: Key, id: string): Promise<void> {
      const task = await readTask(key.userId, id);
      await deleteTask(services, task);
      await results.forget(task);
    },
    /** Sends the video or the last frame of the task, whole or in part. */
    deliverResult: (call: Call, task: taskRows.TaskRow, kind: ResultKind) => results.deliver(call, task, kind),
    /** With signed links of this key, if one is given. */
    taskView: (task: taskRows.TaskRow, linkKey?: Key): object =>
      taskView(task, publicUrl(), linkKey && links.createIfReadable(task, linkKey)),
    hasLastFrame,
    effectiveParameters,
    resultExpiry,
    chargeOf: boundTo(db)(chargeOfTask),
    holdsOf({ userId }: VideoOwner, tasks: readonly taskRows.TaskRow[]) {
      const ids = tasks.map(({ id }) => id);
      return holdsOfTasks(db, userId, ids);
    },
    videoView,
    links,
    openFileLink: fileLinks.open,
    callbacks: ownCallbacks(db),
    callbackDefaults: callbackDefaults(db, options.allowedOrigins),
    assets: createAssets(services),
    sessions,
    characters: {
      list: bound(characters.findCharacters),
      find: bound(characters.findCharacter),
      view: (character: characters.CharacterRow) => characters.characterView(character, catalog(), publicUrl()),
      preview: (publicId: string) => characters.findPreview(db, publicId),
    },
    onProviderReport: bound(onProviderReport),
    resolveReview: bound(decisions.resolveReview),
    assignSubmission: bound(decisions.assignSubmission),
    dismissSubmission: bound(decisions.dismissSubmission),
    testCallback: boundTo(callbackServices)(testCallback),
    /** Returns how many objects of the user were left at providers. */
    eraseUser: (user: ErasedUser) => eraseVideo(services, user, (task) => results.forget(task)),
    jobs: [...jobsOf(services, { follower, deliverer, results }, options.mirror), ...sessionJobs],
    close: async (): Promise<void> => {
      await Promise.all([follower.stop(), deliverer.stop(), results.close()]);
    },
  };
}

/** Gives functions their first argument. */
const boundTo =
  <F>(first: F) =>
  <A extends unknown[], R>(work: (first: F, ...rest: A) => R) =>
  (...rest: A): R =>
    work(first, ...rest);

type Workers = { follower: Follower; deliverer: Deliverer; results: Results };

function jobsOf(services: VideoServices, { follower, deliverer, results }: Workers, mirror?: MirrorSettings): Job[] {
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

/**
 * A provider can report only to a public HTTPS address; one on this machine, such as the simulator, can report to any.
 */
export function canReport(publicUrl: string, account: Pick<Account, 'baseUrl' | 'adapter'>): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  const isLiteral = /^[\d.]+$|^\[/.test(hostname);
  if (protocol === 'https:' && hostname !== 'localhost' && (!isLiteral || isPublicAddress(hostname))) return true;
  return (
    traitsOf(account).reportsToPrivateUrls && /^(?:127\.|localhost$|\[::1\]$)/.test(new URL(account.baseUrl).hostname)
  );
}
