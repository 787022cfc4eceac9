/**
 * Files that callers uploaded, as input of tasks and assets:
 * checked against owner, type and size before anything is held, and read by the provider at a signed link.
 * A link names one file and ends with its key, its file and the time of a task.
 */
import { type Key, openKeyGrant, sealKeyGrant } from '../access/keys/index.ts';
import { fail } from '../core/index.ts';
import type { Row, StoreServices } from '../platform/db/index.ts';
import { type InlineMediaRules, TASK_EXPIRY_SECONDS } from '../rules/index.ts';
import type { FileReference } from './request/task-request.ts';
import { alternatives, invalidField } from './request/task-request.ts';

export type InputFile = Row<'files'>;

/** The store of all uploaded files. It finds files of their owner only, and none that has expired. */
export interface FileSource {
  find(id: string, userId: string): Promise<InputFile | undefined>;
  read(file: InputFile): AsyncIterable<Buffer>;
}

/**
 * The limits are those of inline media, which a provider has for files at an address as well. The store bounds videos.
 */
export async function findInputFile(
  files: FileSource,
  userId: string,
  { id, param, kind }: FileReference,
  limits: InlineMediaRules,
): Promise<InputFile> {
  const file = await files.find(id, userId);
  if (!file) throw fail('file_not_found', undefined, { param });
  const [type, format = ''] = file.media_type.split('/');
  if (type !== kind) throw invalidField(param, `the file is ${file.media_type}`, `send a file of the type ${kind}`);
  if (kind === 'video') return file;
  const { maxBytes, formats } = limits[kind];
  if (Number(file.bytes) > maxBytes)
    throw invalidField(param, `the file has ${file.bytes} bytes`, `send at most ${maxBytes}`);
  if (kind === 'image' && !formats.includes(format))
    throw invalidField(param, `the file is ${file.media_type}`, `send ${alternatives(formats)}`);
  return file;
}

const locationOf = (id: string) => `files.link:${id}` as const;

export function createFileLinks({
  publicUrl,
  files,
  ...services
}: StoreServices & { readonly files: FileSource; readonly publicUrl: () => string }) {
  return {
    make(id: string, key: Pick<Key, 'userId' | 'id'>): string {
      const link = sealKeyGrant(services, locationOf(id), key, TASK_EXPIRY_SECONDS.default);
      return `${publicUrl()}/public/files/${id}?link=${link}`;
    },

    async open(id: string, token: string): Promise<{ readonly file: InputFile; readonly key: Key } | undefined> {
      const key = await openKeyGrant(services, locationOf(id), token);
      const file = key && (await files.find(id, key.userId));
      return file && { key, file };
    },
  };
}
