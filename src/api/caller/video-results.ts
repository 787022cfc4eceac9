/** Results of video tasks (V 4.6): the video and the last frame. src/video delivers the bytes. */
import { fail } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { VIDEO_QUERIES } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';
import { readVideoQuery } from './query.ts';

interface ResultServices {
  readonly video: Video;
}

export async function sendVideo({ video }: ResultServices, call: Call, { key }: Caller): Promise<void> {
  const { variant } = readVideoQuery(call.query, VIDEO_QUERIES['videos.content']);
  if (variant !== undefined && variant !== 'video' && variant !== 'thumbnail')
    throw unsupported('only "video" and "thumbnail" are available');
  const task = await video.getTask(key, call.params.task_id ?? '');
  const isThumbnail = variant === 'thumbnail';
  if (isThumbnail && !video.hasLastFrame(task))
    throw unsupported('the thumbnail is the last frame, and this task has none; create it with return_last_frame');
  await video.deliverResult(call, task, isThumbnail ? 'last_frame' : 'video');
}

const unsupported = (problem: string) =>
  fail('unsupported_video_parameter', `variant: ${problem}.`, { param: 'variant' });

export async function sendLastFrame({ video }: ResultServices, call: Call, { key }: Caller): Promise<void> {
  readVideoQuery(call.query, VIDEO_QUERIES['videos.lastFrame']);
  await video.deliverResult(call, await video.getTask(key, call.params.task_id ?? ''), 'last_frame');
}
