/** A result on its way to a client: back-pressure both ways, and a broken transfer that is cut rather than ended. */
import { errorFields, type Log } from '../../core/index.ts';
import { type Call, type ClientStreams, idHeaders } from '../../platform/web/index.ts';
import { FOREIGN_FILE_HEADERS } from '../../rules/index.ts';
import { exactly } from './byte-stream.ts';
import { contentRange } from './range.ts';
import { entityTag, lastModified, type Result, typeHeaders } from './result.ts';
import type { UpstreamFile } from './upstream-source.ts';

type SendServices = { readonly streams: ClientStreams; readonly log: Log };

/** Sends head and body. Resolves when nothing more can be written. */
export async function sendResult(services: SendServices, call: Call, result: Result, delivery: UpstreamFile) {
  const { streams, log } = services;
  const length = lengthOf(delivery);
  sendHead(call, result, delivery, length);
  const body = length === undefined ? delivery.body : exactly(delivery.body, length);
  let sent = 0;
  let onReady = (): void => {};
  const stream = streams.open(call, { onDrain: () => onReady() });
  call.onClose(() => {
    body.close();
    onReady();
  });
  try {
    for (let chunk = await body.next(); chunk; chunk = await body.next()) {
      sent += chunk.length;
      const { promise, resolve } = Promise.withResolvers<void>();
      onReady = resolve;
      if (!stream.write(chunk) && !call.isClientGone) await promise;
      if (call.isClientGone) return;
    }
    stream.end();
  } catch (error) {
    if (!call.isClientGone)
      log.warn('result.transfer_cut', {
        task: result.task.id,
        request: call.id,
        sent,
        fault: errorFields(error).fault,
      });
    call.response.destroy();
  } finally {
    body.close();
  }
}

/** The response to HEAD: the head of a whole result. */
export function sendHead(call: Call, result: Result, file: Omit<UpstreamFile, 'body'>, length?: number): void {
  const { type, size, range } = file;
  call.response.writeHead(range ? 206 : 200, {
    ...idHeaders(call),
    ...FOREIGN_FILE_HEADERS,
    ...typeHeaders(type, result.task.id),
    ...(length !== undefined && { 'content-length': length }),
    ...(range && size !== undefined && { 'content-range': contentRange(range, size) }),
    'accept-ranges': 'bytes',
    etag: entityTag(result),
    'last-modified': lastModified(result),
  });
}

const lengthOf = ({ size, range }: UpstreamFile): number | undefined => (range ? range.end - range.start + 1 : size);
