/** Files in the shapes of the three SDK families, which share `/v1/files`. The gateway keeps them itself. */
import { failAt } from '../../core/index.ts';
import { type Caller, fileNotFound, type Gateway, type OwnPage, type StoredFile } from '../../gateway/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import { FILE_PURPOSES, FILES } from '../../rules/index.ts';

export interface FileApiServices {
  readonly gateway: Gateway;
  readonly publicUrl: () => string;
}

export type WithGateway = Pick<FileApiServices, 'gateway'>;

const isGenerate = ({ errorFormat }: Call): boolean => errorFormat === 'generate';
const isMessages = ({ errorFormat }: Call): boolean => errorFormat === 'messages';

export async function createFile({ gateway }: FileApiServices, call: Call, caller: Caller): Promise<void> {
  await gateway.acquireSlot(call, caller);
  const { name, mediaType, content, field } = await gateway.receiveFileForm(call);
  const purpose = field('purpose') ?? (isMessages(call) ? 'user_data' : '');
  if (!FILE_PURPOSES.some((known) => known === purpose))
    throw failAt(
      'invalid_value',
      'purpose',
      `found "${purpose.slice(0, 40)}", expected one of ${FILE_PURPOSES.join(', ')}.`,
    );
  const file = { name, mediaType, purpose, seconds: secondsOf(field('expires_after[seconds]')) };
  sendView(call, await gateway.files.create(fileOwner(caller), file, content));
}

export async function listFiles(services: FileApiServices, call: Call, caller: Caller): Promise<void> {
  if (isGenerate(call)) return listGoogleFiles(services, call, caller);
  const query = new URLSearchParams(call.query);
  const { files } = services.gateway;
  const { userId } = caller.key;
  const ids = isMessages(call) ? [...new Set(query.getAll('ids[]'))] : [];
  if (ids.length > MAX_IDS) throw failAt('invalid_value', 'ids', `expected at most ${MAX_IDS} ids.`);
  const purpose = query.get('purpose') ?? undefined;
  const load = async (page: OwnPage) =>
    ids.length > 0 ? [...(await files.findAll(ids, userId)).values()] : files.list(userId, { ...page, purpose });
  return sendOwnPage(call, load, (row) => viewFor(call, row), ids.length || undefined);
}

/** As Anthropic bounds what one request may ask for by id. */
const MAX_IDS = 100;

export async function getFile(services: FileApiServices, call: Call, caller: Caller): Promise<void> {
  const file = await findFile(services, call, caller);
  if (isGenerate(call)) return sendJson(call, 200, googleView(services, file));
  sendView(call, file);
}

export async function getFileContent(services: FileApiServices, call: Call, caller: Caller): Promise<void> {
  await services.gateway.sendFileContent(call, await findFile(services, call, caller));
}

export async function deleteFile({ gateway }: FileApiServices, call: Call, caller: Caller): Promise<void> {
  const id = call.params.file_id ?? '';
  if (!(await gateway.files.remove(id, caller.key.userId))) throw fileNotFound(id);
  if (isGenerate(call)) return sendJson(call, 200, {});
  sendJson(call, 200, isMessages(call) ? { id, type: 'file_deleted' } : { id, object: 'file', deleted: true });
}

/** Foreign files are missing ones. */
export async function findFile({ gateway }: FileApiServices, call: Call, caller: Caller): Promise<StoredFile> {
  const id = call.params.file_id ?? '';
  const file = await gateway.files.find(id, caller.key.userId);
  if (!file) throw fileNotFound(id);
  return file;
}

export const fileOwner = ({ key }: Caller) => ({ userId: key.userId, keyId: key.id });

/** A page in the form of OpenAI's or Anthropic's lists, newest first unless the query says otherwise. */
export async function sendOwnPage<T extends { readonly id: string }>(
  call: Call,
  load: (page: OwnPage) => Promise<T[]>,
  view: (row: T) => object,
  fixed?: number,
): Promise<void> {
  const query = new URLSearchParams(call.query);
  const limit = fixed ?? pageSize(query, 'limit');
  const order = query.get('order') === 'asc' ? 'asc' : 'desc';
  const before = isMessages(call) ? (query.get('before_id') ?? undefined) : undefined;
  const after = query.get(isMessages(call) ? 'after_id' : 'after') ?? query.get('page') ?? undefined;
  const rows = await load({ limit, order, before, after });
  const page = rows.slice(0, limit);
  if (before !== undefined) page.reverse();
  const hasMore = rows.length > limit;
  const lastId = page.at(-1)?.id ?? null;
  sendJson(call, 200, {
    // The messages dialect has two forms of pages: by ids, and since its files left beta by a cursor.
    ...(isMessages(call) ? { next_page: hasMore ? lastId : null } : { object: 'list' }),
    data: page.map(view),
    first_id: page[0]?.id ?? null,
    last_id: lastId,
    has_more: hasMore,
  });
}

export function pageSize(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  const size = text === null ? FILES.page.default : Number(text);
  if (Number.isSafeInteger(size) && size >= 1) return Math.min(size, FILES.page.max);
  throw failAt('invalid_value', name, `found "${text?.slice(0, 20)}", expected a positive integer.`);
}

function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (Number.isSafeInteger(seconds) && seconds > 0) return seconds;
  throw failAt('invalid_value', 'expires_after', `found "${text.slice(0, 20)}", expected a number of seconds.`);
}

const sendView = (call: Call, row: StoredFile): void => sendJson(call, 200, viewFor(call, row));

const viewFor = (call: Call, row: StoredFile): object => (isMessages(call) ? messagesView(row) : openAiView(row));

const openAiView = (row: StoredFile) => ({
  id: row.id,
  object: 'file',
  bytes: Number(row.bytes),
  created_at: Math.floor(row.created_at.getTime() / 1_000),
  expires_at: Math.floor(row.expires_at.getTime() / 1_000),
  filename: row.name,
  purpose: row.purpose,
  status: 'processed',
  status_details: null,
});

const messagesView = (row: StoredFile) => ({
  id: row.id,
  type: 'file',
  filename: row.name,
  mime_type: row.media_type,
  size_bytes: Number(row.bytes),
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
  downloadable: true,
});

async function listGoogleFiles(services: FileApiServices, call: Call, caller: Caller): Promise<void> {
  const query = new URLSearchParams(call.query);
  const limit = pageSize(query, 'pageSize');
  const after = query.get('pageToken') || undefined;
  const rows = await services.gateway.files.list(caller.key.userId, { limit, after });
  const page = rows.slice(0, limit);
  sendJson(call, 200, {
    files: page.map((row) => googleView(services, row)),
    ...(rows.length > limit && { nextPageToken: page.at(-1)?.id }),
  });
}

export function googleView({ publicUrl }: FileApiServices, row: StoredFile) {
  const uri = `${publicUrl()}/v1beta/files/${row.id}`;
  return {
    name: `files/${row.id}`,
    displayName: row.name,
    mimeType: row.media_type,
    sizeBytes: String(row.bytes),
    createTime: row.created_at.toISOString(),
    updateTime: (row.completed_at ?? row.created_at).toISOString(),
    expirationTime: row.expires_at.toISOString(),
    uri,
    downloadUri: `${uri}:download?alt=media`,
    state: 'ACTIVE',
    source: 'UPLOADED',
  };
}
