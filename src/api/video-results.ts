/** Results of video tasks (V 4.6): the video and the last frame. src/video delivers the bytes. */
import { fail } from '../core/index.ts';
import type { Caller } from '../gateway/index.ts';
import { VIDEO_QUERIES } from '../rules/index.ts';
import type { Video } from '../video/index.ts';
import type { Call } from '../web/index.ts';
import { readVideoQuery } from './query.ts';

interface ResultServices {
  readonly video: Video;
}

export async function sendVideo({ video }: ResultServices, call: Call, { key }: Caller): Promise<void> {
  const { variant } = readVideoQuery(call.query, VIDEO_QUERIES['videos.content']);
  if (variant !== undefined && variant !== 'video')
    throw fail(
      'unsupported_video_parameter',
      'variant: only "video" is available; read the last frame at /last-frame.',
      {
        param: 'variant',
      },
    );
  await video.deliverResult(call, await video.getTask(key, call.params.task_id ?? ''), 'video');
}

export async function sendLastFrame({ video }: ResultServices, call: Call, { key }: Caller): Promise<void> {
  readVideoQuery(call.query, VIDEO_QUERIES['videos.lastFrame']);
  await video.deliverResult(call, await video.getTask(key, call.params.task_id ?? ''), 'last_frame');
}
