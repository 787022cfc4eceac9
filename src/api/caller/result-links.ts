/** Signed links to results: made and revoked with the owner's key, used without one. Off unless the operator allows them (V 4.6 r3). */
import { fail, isAddressIn } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { type Call, sendJson, sendNoContent } from '../../platform/web/index.ts';
import { acquireSlot, type Limiter } from '../../providers/pool/index.ts';
import { LINK_HEADER, VIDEO_ENDPOINTS, VIDEO_REQUESTS_PER_MINUTE } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';

interface LinkServices {
  readonly video: Video;
  readonly limiter: Limiter;
}

export async function createResultLinks({ video }: LinkServices, call: Call, { key }: Caller): Promise<void> {
  const task = await video.getTask(key, call.params.task_id ?? '');
  sendJson(call, 200, { object: 'video.links', ...video.links.create(task, key) });
}

export async function revokeResultLinks({ video }: LinkServices, call: Call, { key }: Caller): Promise<void> {
  await video.links.revoke(await video.getTask(key, call.params.task_id ?? ''));
  sendNoContent(call);
}

/** The key whose links a read wants in place of the addresses that need a token. Undefined when it asks for none. */
export function linkKeyOf(call: Call, { key }: Caller): Caller['key'] | undefined {
  const wanted = call.header(LINK_HEADER);
  if (wanted === undefined) return undefined;
  if (wanted !== 'signed') throw fail('invalid_request', `${LINK_HEADER}: expected "signed".`, { param: LINK_HEADER });
  return key;
}

/** A link counts as a read of its key. It works no longer than its key, and only where its key works. */
export async function sendLinkedResult({ video, limiter }: LinkServices, call: Call): Promise<void> {
  const { task_id: taskId = '', file = '' } = call.params;
  const token = new URLSearchParams(call.query).get('link') ?? '';
  const linked = await video.links.open(taskId, file, token);
  if (!linked || (linked.key.allowedAddresses && !isAddressIn(call.address, linked.key.allowedAddresses)))
    throw fail('task_not_found', 'The link is invalid, has expired or was revoked.');
  const { key, task, kind } = linked;
  call.addLogFields({ user: key.userId, key: key.id, group: key.groupId, task: task.id, model: task.model });
  call.identify(key.id);
  call.addHeaders(VIDEO_ENDPOINTS['videos.content'].headers);
  await acquireSlot(limiter, call, key, { operation: 'videos.content', rpm: VIDEO_REQUESTS_PER_MINUTE.read });
  await video.deliverResult(call, task, kind);
}
