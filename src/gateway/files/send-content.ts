/** The content of a file on its way to its owner, at the speed of the client. */
import { type Call, type ClientStreams, idHeaders } from '../../platform/web/index.ts';
import { FOREIGN_FILE_HEADERS } from '../../rules/index.ts';
import type { FileStore, StoredFile } from './file-store.ts';

export async function sendFileContent(
  { files, clientStreams }: { readonly files: FileStore; readonly clientStreams: ClientStreams },
  call: Call,
  file: StoredFile,
): Promise<void> {
  let onReady = (): void => {};
  const content = files.read(file);
  // A failure before the first row becomes an error response; a later one breaks the connection.
  let next = await content.next();
  call.response.writeHead(200, {
    ...idHeaders(call),
    ...FOREIGN_FILE_HEADERS,
    'content-type': file.media_type,
    'content-length': Number(file.bytes),
  });
  const stream = clientStreams.open(call, { onDrain: () => onReady() });
  call.onClose(() => onReady());
  try {
    for (; !next.done; next = await content.next()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      onReady = resolve;
      if (!stream.write(next.value) && !call.isClientGone) await promise;
      if (call.isClientGone) return;
    }
    stream.end();
  } catch {
    call.response.destroy();
  }
}
