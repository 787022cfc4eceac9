/**
 * Operations of document 2 on what a task may refer to (V 4.8 to 4.11): assets, authorizations of real persons,
 * characters. They are in src/video.
 */
import { fail } from '../../core/index.ts';
import { type Call, expectJson, idHeaders, readBody, sendJson } from '../../platform/web/index.ts';
import { BODY_BYTES, FOREIGN_FILE_HEADERS, VIDEO_QUERIES } from '../../rules/index.ts';
import { type AssetTable, isAssetIdOf, readIdempotencyKey } from '../../video/index.ts';
import { readVideoQuery, sendList, type VideoHandler, type VideoHandlerServices, type VideoHandlers } from './query.ts';
import { PAGE_HEADERS, renderReturnPage } from './return-page.ts';

function createWith(table: AssetTable): VideoHandler {
  return async ({ video: { assets } }, call, { key }) => {
    const keyHash = readIdempotencyKey(call);
    expectJson(call);
    const row = await assets.create(table, key, { bytes: await readBody(call, BODY_BYTES.small), keyHash });
    noteId(call, table, row.id);
    // SDKs retry some statuses by themselves; an unconfirmed asset must not be created again.
    const headers: Record<string, string> = row.status === 'create_unknown' ? { 'x-should-retry': 'false' } : {};
    sendJson(call, table === 'assets' ? 202 : 201, assets.view(table, row), headers);
  };
}

function readWith(table: AssetTable): VideoHandler {
  return async ({ video: { assets } }, call, { key }) => {
    const row = await assets.get(key, table, idIn(call, table));
    sendJson(call, 200, assets.view(table, row));
  };
}

function deleteWith(table: AssetTable): VideoHandler {
  return async ({ video: { assets } }, call, { key }) => {
    const row = await assets.delete(key, table, idIn(call, table));
    sendJson(call, 202, assets.view(table, row));
  };
}

/** The id in the path, noted in the log line. Any other text there is the client's and not logged. */
function idIn(call: Call, table: AssetTable): string {
  const id = (table === 'assets' ? call.params.asset_id : call.params.group_id) ?? '';
  if (isAssetIdOf(table, id)) noteId(call, table, id);
  return id;
}

const noteId = (call: Call, table: AssetTable, id: string): void =>
  call.addLogFields(table === 'assets' ? { asset: id } : { asset_group: id });

/** A picture never changes under its address for long; browsers may keep it for an hour. */
export async function sendPreview({ video }: VideoHandlerServices, call: Call): Promise<void> {
  const preview = await video.characters.preview(call.params.character_id ?? '');
  if (!preview) throw fail('not_found', 'There is no such picture.');
  call.response.writeHead(200, {
    ...idHeaders(call),
    ...FOREIGN_FILE_HEADERS,
    'content-type': preview.type,
    'content-disposition': 'inline',
    'content-length': preview.bytes.length,
    'cache-control': 'public, max-age=3600',
  });
  call.response.end(preview.bytes);
}

/** Real-person authorization sessions (V 4.10) for callers, and the page to which the browser of the person returns. */
/** Seconds until the next poll of an open session. */
const POLL_SECONDS = '5';

export const ASSET_HANDLERS: VideoHandlers<'assets' | 'assetGroups' | 'characters' | 'sessions'> = {
  'assetGroups.create': createWith('asset_groups'),
  async 'assetGroups.list'({ video: { assets } }, call, { key }) {
    const { limit, after, status, route_group_id } = readVideoQuery(call.query, VIDEO_QUERIES['assetGroups.list']);
    const filter = { statuses: status, groupId: route_group_id };
    const rows = await assets.list(key, 'asset_groups', filter, { after, limit });
    sendList(call, rows, { limit, view: (group) => assets.view('asset_groups', group), id: ({ id }) => id });
  },
  'assetGroups.get': readWith('asset_groups'),
  'assetGroups.delete': deleteWith('asset_groups'),
  'assets.create': createWith('assets'),
  async 'assets.list'({ video: { assets } }, call, { key }) {
    const query = readVideoQuery(call.query, VIDEO_QUERIES['assets.list']);
    const { limit, after } = query;
    const filter = {
      statuses: query.status,
      assetTypes: query.asset_type,
      assetGroupId: query.group_id,
      groupId: query.route_group_id,
    };
    const rows = await assets.list(key, 'assets', filter, { after, limit });
    sendList(call, rows, { limit, view: (asset) => assets.view('assets', asset), id: ({ id }) => id });
  },
  'assets.get': readWith('assets'),
  async 'assets.refresh'({ video: { assets } }, call, { key }) {
    readVideoQuery(call.query, {});
    const body = (await readBody(call, BODY_BYTES.small)).toString('latin1').trim();
    if (body !== '' && !/^\{\s*\}$/.test(body)) throw fail('invalid_request', 'A refresh takes no body; send none.');
    const asset = await assets.refresh(key, idIn(call, 'assets'));
    sendJson(call, 200, assets.view('assets', asset));
  },
  'assets.delete': deleteWith('assets'),
  /** Public characters (V 4.11): list and detail for callers, and pictures, which need no key. */
  async 'characters.list'({ video }, call, { key }) {
    const { limit, after, tags, ...filter } = readVideoQuery(call.query, VIDEO_QUERIES['characters.list']);
    const wanted = tags?.flatMap((text) => text.split(',')).filter((tag) => tag !== '');
    const rows = await video.characters.list(key, { ...filter, tags: wanted }, { after, limit });
    sendList(call, rows, {
      limit,
      view: (character) => video.characters.view(character),
      id: ({ public_id }) => public_id,
    });
  },

  async 'characters.get'({ video }, call, { key }) {
    const { model } = readVideoQuery(call.query, VIDEO_QUERIES['characters.get']);
    const character = await video.characters.find(key, call.params.character_id ?? '', model);
    if (!character) throw fail('public_character_not_found');
    sendJson(call, 200, video.characters.view(character));
  },
  async 'sessions.create'({ video }, call, { key }) {
    const keyHash = readIdempotencyKey(call);
    expectJson(call);
    const bytes = await readBody(call, BODY_BYTES.small);
    sendJson(call, 201, await video.sessions.create(key, { bytes, keyHash }), NO_STORE);
  },

  async 'sessions.get'({ video }, call, { key }) {
    const { session, isOpen } = await video.sessions.get(key, call.params.session_id ?? '');
    sendJson(call, 200, session, { ...NO_STORE, ...(isOpen && { 'retry-after': POLL_SECONDS }) });
  },
};

/** The link is a secret of the person. */
const NO_STORE = { 'cache-control': 'no-store' } as const;

/** The query is the provider's, can be forged, and is not read: only the provider's own result decides. */
export async function sendReturnPage({ video }: VideoHandlerServices, call: Call): Promise<void> {
  const session = await video.sessions.onReturn(call.params.secret ?? '');
  const page = renderReturnPage(session, call.header('accept-language') ?? '');
  const bytes = Buffer.from(page);
  call.response.writeHead(session ? 200 : 404, {
    ...idHeaders(call),
    ...PAGE_HEADERS,
    'content-length': bytes.length,
  });
  call.response.end(bytes);
}
