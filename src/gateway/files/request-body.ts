/** The body of a request with the content of the files that it names. */
import { fail, failAt, type MaybePromise, whenReady } from '../../core/index.ts';
import { type BodyUse, FILES } from '../../rules/index.ts';
import { type ConversationServices, continueConversation } from '../conversations/continue.ts';
import { mayNameConversation } from '../conversations/place-items.ts';
import { type CallSource, type GatewayServices, jobOwner, readJsonBody } from '../services.ts';
import { type FileStore, fileNotFound } from './file-store.ts';
import { fileIdsJob, mayNameFiles, type PlacedFile, placeFilesJob } from './place-files.ts';

export interface FileServices extends Pick<GatewayServices, 'bodyLimit' | 'threads'>, ConversationServices {
  readonly files: FileStore;
}

/**
 * The JSON body of a request, with the items of its conversation, and files in the place of their ids.
 * Without a promise when it is complete already and names none.
 */
export const readRequestBody = (services: FileServices, source: CallSource, use?: BodyUse): MaybePromise<Buffer> =>
  whenReady(readJsonBody(services.bodyLimit, source, use), (body) =>
    whenReady(mayNameConversation(body) ? continueConversation(services, source, body) : body, (whole) =>
      mayNameFiles(whole) ? withFiles(services, source, whole) : whole,
    ),
  );

/** Base64 takes a third more, and its text and bytes are in memory at once. */
const COPIES = 4;

async function withFiles({ threads, files }: FileServices, { call, caller }: CallSource, body: Buffer) {
  const places = await threads.run(fileIdsJob, { bytes: body }, jobOwner(call, caller, body.length));
  if (places.length === 0) return body;
  const ids = [...new Set(places)];
  if (ids.length > FILES.inRequest)
    throw failAt(
      'invalid_value',
      'file_id',
      `a request may name ${FILES.inRequest} files, and this one names ${ids.length}.`,
    );
  const { userId } = caller.key;
  const found = await files.findAll(ids, userId);
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw fileNotFound(missing, 'file_id');
  // A file that is named twice is sent twice.
  const size = places.reduce((sum, id) => sum + Number(found.get(id)?.bytes), 0);
  if (size > FILES.inRequestBytes)
    throw fail(
      'request_too_large',
      `file_id: the files of the request have ${size} bytes, and ${FILES.inRequestBytes} is the limit.`,
      { param: 'file_id' },
    );
  call.reserveMemory().add(size * COPIES);
  const placed = new Map<string, PlacedFile>();
  for (const [id, file] of found)
    placed.set(id, { name: file.name, mediaType: file.media_type, content: await contentOf(files, file) });
  const bytes = await threads.run(
    placeFilesJob,
    { bytes: body, files: placed },
    jobOwner(call, caller, body.length + size * 2),
  );
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

async function contentOf(files: FileStore, file: Parameters<FileStore['read']>[0]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of files.read(file)) parts.push(part);
  return Buffer.concat(parts);
}
