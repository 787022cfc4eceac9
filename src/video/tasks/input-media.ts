/**
 * Media of a request as its provider takes it. Uploaded files become signed links,
 * or their bytes where the provider takes no addresses or cannot reach this installation.
 * Addresses of callers are fetched, by the rules for such addresses, for providers that take only bytes.
 */
import type { Account } from '../../catalog/index.ts';
import { ApiError, fail, failAt } from '../../core/index.ts';
import { FILE_ID } from '../../rules/index.ts';
import type { NeutralMedia, NeutralRequest } from '../request/task-request.ts';
import type { VideoServices } from '../services.ts';
import { traitsOf } from '../upstream/adapters.ts';
import type { Submission } from './submission.ts';

const MAX_BYTES = 20 * 2 ** 20;
/** All media of a request together. */
const MAX_TOTAL_BYTES = 40 * 2 ** 20;
const TIMEOUT_MS = 20_000;
/** Bytes are in memory as they came, as Base64 and in the message. */
const COPIES = 4;

type MediaServices = Pick<VideoServices, 'media' | 'files' | 'fileLinkFor'>;
/** Where bytes come from. */
interface Source extends Pick<NeutralMedia, 'type'> {
  readonly address: string;
  readonly param: string;
  /** False when there is no room for them. */
  readonly admit: (bytes: number) => boolean;
}

/** Throws what the caller can change, and `server_is_overloaded` when there is no memory for it now. */
export async function withMedia(
  services: MediaServices,
  { neutral: { items, ...request }, key, reserve }: Pick<Submission, 'neutral' | 'key' | 'reserve'>,
  account: Account,
): Promise<NeutralRequest> {
  const { takesBytesOnly } = traitsOf(account);
  let left = MAX_TOTAL_BYTES;
  let refusal: unknown;
  const admit = (bytes: number): boolean => {
    left -= bytes;
    if (left < 0) return false;
    try {
      reserve(bytes * COPIES);
      return true;
    } catch (error) {
      refusal = error;
      return false;
    }
  };
  const place = async (item: NeutralMedia, index: number): Promise<NeutralMedia> => {
    const { address, type } = item;
    if (typeof address !== 'string') return item;
    const isFile = FILE_ID.pattern.test(address);
    if (!isFile && (!takesBytesOnly || address.startsWith('data:'))) return item;
    const link = isFile && !takesBytesOnly ? services.fileLinkFor(account, address, key) : undefined;
    if (link !== undefined) return { ...item, address: link };
    const source = { address, type, admit, param: `content[${index}].${type}.url` };
    const { mime, bytes } = isFile ? await readFile(services, key.userId, source) : await fetchUrl(services, source);
    return { ...item, address: `data:${mime};base64,${bytes.toString('base64')}` };
  };
  try {
    return {
      ...request,
      items: await Promise.all(items.map((item, n) => (item.type === 'text' ? item : place(item, n)))),
    };
  } catch (error) {
    throw refusal instanceof ApiError ? refusal : error;
  }
}

async function readFile({ files }: MediaServices, userId: string, { address, type, param, admit }: Source) {
  if (type === 'video_url')
    throw unusable(param, 'the provider cannot reach this gateway to read it; send a public URL');
  const file = await files.find(address, userId);
  if (!file) throw fail('file_not_found', undefined, { param });
  if (!admit(Number(file.bytes))) throw unusable(param, 'it is too large');
  return { mime: file.media_type, bytes: Buffer.concat(await Array.fromAsync(files.read(file))) };
}

const KINDS = { image_url: 'image/', video_url: 'video/', audio_url: 'audio/' } as const;

async function fetchUrl({ media }: MediaServices, { address, type, param, admit }: Source) {
  const accept = (mime: string): boolean => mime.startsWith(KINDS[type]);
  const fetched = await media.fetch(address, { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS, accept, admit });
  if (!fetched.ok) throw unusable(param, fetched.message);
  return fetched;
}

const unusable = (param: string, why: string): ApiError =>
  failAt('invalid_request', param, `the media cannot be used: ${why.replace(/\.$/, '')}.`);
