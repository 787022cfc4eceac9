/**
 * Signed links to results, and to uploaded files for providers. Those to results: made and revoked with the owner's
 * key, used without one. Off unless the operator allows them (V 4.6 r3).
 */
import { fail, isAddressIn } from '../../core/index.ts';
import type { Caller, Gateway } from '../../gateway/index.ts';
import { type Call, sendJson, sendNoContent } from '../../platform/web/index.ts';
import { acquireSlot, type Limiter } from '../../providers/pool/index.ts';
import { LINK_HEADER, VIDEO_ENDPOINTS, VIDEO_REQUESTS_PER_MINUTE } from '../../rules/index.ts';
import type { VideoHandlerServices, VideoHandlers } from './query.ts';

interface LinkServices extends VideoHandlerServices {
  readonly limiter: Limiter;
}
interface FileLinkServices extends LinkServices {
  readonly gateway: Gateway;
}

export const LINK_HANDLERS: VideoHandlers<'links'> = {
  async 'links.create'({ video }, call, { key }) {
    const task = await video.getTask(key, call.params.task_id ?? '');
    sendJson(call, 200, { object: 'video.links', ...video.links.create(task, key) });
  },

  async 'links.revoke'({ video }, call, { key }) {
    await video.links.revoke(await video.getTask(key, call.params.task_id ?? ''));
    sendNoContent(call);
  },
};

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
  call.addLogFields({ user: key.userId, key: key.id, group: key.groups[0], task: task.id, model: task.model });
  call.owner = key.id;
  call.addHeaders(VIDEO_ENDPOINTS['videos.content'].headers);
  await acquireSlot(limiter, call, key, { operation: 'videos.content', rpm: VIDEO_REQUESTS_PER_MINUTE.read });
  await video.deliverResult(call, task, kind);
}

/**
 * Providers read with it what a task or an asset was created with. It counts as a read of the key that created them.
 */
export async function sendLinkedFile({ video, limiter, gateway }: FileLinkServices, call: Call): Promise<void> {
  const id = call.params.file_id ?? '';
  const linked = await video.openFileLink(id, new URLSearchParams(call.query).get('link') ?? '');
  if (!linked) throw fail('file_not_found', 'The link is invalid or has expired, or its file was deleted.');
  const { key, file } = linked;
  call.addLogFields({ user: key.userId, key: key.id, group: key.groups[0] });
  call.owner = key.id;
  await acquireSlot(limiter, call, key, { operation: 'files.link', rpm: VIDEO_REQUESTS_PER_MINUTE.read });
  await gateway.sendFileContent(call, file);
}
