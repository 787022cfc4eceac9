/**
 * The upload of generate-content: a request that begins it, and one for each piece, at a link because some clients send
 * those without a key.
 */
import { fail, failAt, isAddressIn, valueOfJson } from '../../core/index.ts';
import { type Caller, uploadedAs } from '../../gateway/index.ts';
import { type Call, idHeaders, readBody, sendJson, sendNoContent } from '../../platform/web/index.ts';
import { BODY_BYTES, FILES } from '../../rules/index.ts';
import { type FileApiServices, fileOwner, googleView } from './files.ts';

type Json = Readonly<Record<string, unknown>>;

const UPLOAD = { command: 'x-goog-upload-command', offset: 'x-goog-upload-offset', status: 'x-goog-upload-status' };

export async function uploadFile(services: FileApiServices, call: Call, caller: Caller): Promise<void> {
  const { gateway } = services;
  await gateway.acquireSlot(call, caller);
  const protocol = call.header('x-goog-upload-protocol') ?? '';
  if (protocol !== 'resumable' || call.header(UPLOAD.command) !== 'start')
    throw fail(
      'invalid_request',
      `x-goog-upload-protocol: "${protocol.slice(0, 20)}" is not supported; begin with resumable and the command start.`,
      { param: 'x-goog-upload-protocol' },
    );
  if (Number(call.header('x-goog-upload-header-content-length') ?? 0) > FILES.bytes)
    throw fail('request_too_large', `The file is larger than ${FILES.bytes / 2 ** 20} MiB, the limit.`);
  const {
    displayName,
    display_name: name = displayName,
    mimeType,
    mime_type: type = mimeType,
  } = await metadataOf(call);
  const given = {
    name: typeof name === 'string' ? name : undefined,
    type: typeof type === 'string' ? type : call.header('x-goog-upload-header-content-type'),
  };
  const file = await gateway.files.begin(fileOwner(caller), { ...uploadedAs(given), purpose: 'user_data' });
  call.response.writeHead(200, {
    ...idHeaders(call),
    [UPLOAD.status]: 'active',
    'x-goog-upload-url': services.publicUrl() + gateway.uploadLink(file.id, caller),
    'content-length': 0,
  });
  call.response.end();
}

export async function uploadPiece(services: FileApiServices, call: Call): Promise<void> {
  const { gateway } = services;
  const id = call.params.file_id ?? '';
  const key = await gateway.uploadKey(id, new URLSearchParams(call.query).get('link') ?? '');
  if (!key || (key.allowedAddresses && !isAddressIn(call.address, key.allowedAddresses)))
    throw fail('file_not_found', 'The link is invalid or has expired; begin the upload again.');
  call.addLogFields({ user: key.userId, key: key.id, group: key.groups[0] });
  call.owner = key.id;
  const commands = (call.header(UPLOAD.command) ?? '').split(',').map((word) => word.trim());
  const at = Number(call.header(UPLOAD.offset) ?? 0);
  if (!commands.includes('upload') || !Number.isSafeInteger(at) || at < 0)
    throw failAt(
      'invalid_value',
      UPLOAD.command,
      'expected "upload" or "upload, finalize", with the offset of the piece.',
    );
  const isLast = commands.includes('finalize');
  const piece = { id, userId: key.userId, at, isLast };
  const file = await gateway.files.append(piece, await gateway.receiveFileBytes(call));
  if (isLast) return sendJson(call, 200, { file: googleView(services, file) }, { [UPLOAD.status]: 'final' });
  call.addHeaders({ [UPLOAD.status]: 'active' });
  sendNoContent(call);
}

async function metadataOf(call: Call): Promise<Json> {
  const text = (await readBody(call, BODY_BYTES.small)).toString();
  const { file } = (valueOfJson(text || '{}') ?? {}) as { file?: Json | null };
  return file ?? {};
}
