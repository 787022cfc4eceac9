/** Uploads of files: spooled to disk while they arrive, so that the database is used only when everything is there. */
import { fail, failAt, mediaTypeOf } from '../../core/index.ts';
import { boundaryOf, type Call, FormScanner, type Spool } from '../../platform/web/index.ts';
import { FILES } from '../../rules/index.ts';
import { fileTooLarge } from './file-store.ts';

export interface Upload {
  readonly name: string;
  readonly mediaType: string;
  readonly content: AsyncIterable<Buffer>;
}

/** A form with one file and text fields. */
export interface FileForm extends Upload {
  readonly field: (name: string) => string | undefined;
}

export interface UploadServices {
  readonly spool: Spool;
  /** Of a body with a file. */
  readonly maxBytes: number;
}

export async function receiveForm({ spool, maxBytes }: UploadServices, call: Call): Promise<FileForm> {
  const type = call.header('content-type') ?? '';
  if (!/^multipart\/form-data\b/i.test(type))
    throw fail('unsupported_media_type', 'content-type: send the file as multipart/form-data.', {
      param: 'content-type',
    });
  const scanner = new FormScanner(boundaryOf(type));
  const body = await spool.receive(call, maxBytes, (chunk) => scanner.push(chunk));
  scanner.end();
  const files = scanner.parts.filter(({ name }) => name === 'file');
  const [file] = files;
  if (!file?.isFile || files.length > 1)
    throw failAt('invalid_value', 'file', 'exactly one file is required, as form field file.');
  if (file.content.end - file.content.start > FILES.bytes) throw fileTooLarge();
  return {
    ...uploadedAs({ name: file.filename, type: file.type }),
    content: body.read(file.content),
    field: (name) => scanner.parts.find((part) => part.name === name && !part.isFile)?.bytes.toString(),
  };
}

/** A body that is the file itself, or a piece of it. */
export async function receiveBytes({ spool, maxBytes }: UploadServices, call: Call): Promise<AsyncIterable<Buffer>> {
  const body = await spool.receive(call, maxBytes, () => {});
  return body.read({ start: 0, end: body.length });
}

/** The name and the media type of a file as they are kept. */
export const uploadedAs = (given: { readonly name: string | undefined; readonly type: string | undefined }) => ({
  name: nameOf(given.name),
  mediaType: typeOf(given.type, given.name),
});

const MAX_NAME = 255;

/** Without folders and control characters, which some systems would act upon. */
const nameOf = (given: string | undefined): string =>
  (given ?? '')
    .replaceAll(/\p{Cc}/gu, '')
    .split(/[\\/]/)
    .at(-1)
    ?.slice(0, MAX_NAME) || 'file';

const TYPE = /^[a-z]+\/[\w.+-]{1,100}$/;
const BY_ENDING: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  jsonl: 'application/jsonl',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  wav: 'audio/wav',
  webp: 'image/webp',
};

/** SDKs send `application/octet-stream` for what they do not know; the name then tells more. */
function typeOf(given: string | undefined, name: string | undefined): string {
  const type = mediaTypeOf(given ?? '').toLowerCase();
  if (TYPE.test(type) && type !== 'application/octet-stream') return type;
  const ending = /\.(\w+)$/.exec(name ?? '')?.[1]?.toLowerCase() ?? '';
  return BY_ENDING[ending] ?? 'application/octet-stream';
}
