/**
 * Signed links to results: for browsers and download hooks that cannot send a bearer token.
 * A link names one file of one task and ends soon. It is sealed with the master key,
 * so that it can neither be forged nor read, and it ends early with its key or its epoch.
 */
import { sql } from 'kysely';
import { findKeyOfUser, type Key } from '../../access/keys/index.ts';
import { fail, openGrant } from '../../core/index.ts';
import type { VideoServices } from '../services.ts';
import { findTask, statusOf, type TaskRow } from '../tasks/task.ts';
import { hasLastFrame, type ResultKind } from './result.ts';

/** By the last part of the path, as for the addresses that need a token. */
const KINDS: Readonly<Record<string, ResultKind>> = { content: 'video', 'last-frame': 'last_frame' };

type Grant = readonly [userId: string, keyId: string, file: string, epoch: number, expiresAt: number];

type LinkServices = Pick<VideoServices, 'db' | 'sealer' | 'clock' | 'publicUrl'> & { readonly linkSeconds: number };

export function createLinks({ db, sealer, clock, publicUrl, linkSeconds }: LinkServices) {
  function make(task: TaskRow, key: Key) {
    const expiresAt = Math.floor(clock.now() / 1_000) + linkSeconds;
    const linkTo = (file: string): string => {
      const grant: Grant = [task.user_id, key.id, file, task.link_epoch, expiresAt];
      const token = encodeURIComponent(sealer.seal(JSON.stringify(grant), locationOf(task.id)));
      return `${publicUrl()}/public/videos/${task.id}/${file}?link=${token}`;
    };
    const lastFrame = hasLastFrame(task) ? { last_frame_url: linkTo('last-frame') } : {};
    return { video_url: linkTo('content'), ...lastFrame, expires_at: expiresAt };
  }

  /** Undefined until the task has results. */
  function createIfReadable(task: TaskRow, key: Key) {
    if (linkSeconds === 0) throw fail('result_links_disabled');
    return statusOf(task) === 'succeeded' ? make(task, key) : undefined;
  }

  return {
    createIfReadable,

    create(task: TaskRow, key: Key) {
      const links = createIfReadable(task, key);
      if (!links) throw fail('video_not_ready');
      return links;
    },

    async revoke({ user_id, id }: TaskRow): Promise<void> {
      await sql`
        update video_tasks set link_epoch = link_epoch + 1 where user_id = ${user_id} and id = ${id}`.execute(db);
    },

    /** With the key that made the link. */
    async open(taskId: string, file: string, token: string) {
      const grant = linkSeconds === 0 ? undefined : openGrant<Grant>(sealer, locationOf(taskId), token);
      const kind = KINDS[file];
      if (!grant || !kind) return undefined;
      const [userId, keyId, granted, epoch, expiresAt] = grant;
      if (granted !== file || clock.now() >= expiresAt * 1_000) return undefined;
      const [key, task] = await Promise.all([
        findKeyOfUser(db, userId, keyId, clock.now()),
        findTask(db, userId, taskId),
      ]);
      return key && task?.link_epoch === epoch ? { key, task, kind } : undefined;
    },
  };
}

const locationOf = (taskId: string) => `video_tasks.result_link:${taskId}` as const;
