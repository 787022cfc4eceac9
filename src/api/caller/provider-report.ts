/** Reports of video providers on the secret path of a task. The body is a hint and never trusted; a wrong path gets 404. */
import { fail, valueOfJson } from '../../core/index.ts';
import { type Call, readBody, sendJson } from '../../platform/web/index.ts';
import { BODY_BYTES } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';

export async function receiveProviderReport(video: Video, call: Call): Promise<void> {
  const body = await readBody(call, BODY_BYTES.small);
  const isKnown = await video.onProviderReport(call.params.secret ?? '', valueOfJson(body.toString('utf8')));
  if (!isKnown) throw fail('not_found', 'Unknown callback path.');
  sendJson(call, 200, {});
}
