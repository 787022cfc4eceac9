/** Real-person authorization sessions (V 4.10) for callers, and the page to which the browser of the person returns. */
import type { Caller } from '../../gateway/index.ts';
import { type Call, expectJson, idHeaders, readBody, sendJson } from '../../platform/web/index.ts';
import { BODY_BYTES } from '../../rules/index.ts';
import { readIdempotencyKey, type Video } from '../../video/index.ts';
import { PAGE_HEADERS, renderReturnPage } from './return-page.ts';

interface SessionServices {
  readonly video: Video;
}

/** Seconds until the next poll of an open session. */
const POLL_SECONDS = '5';

export async function createAuthorizationSession(
  { video }: SessionServices,
  call: Call,
  { key }: Caller,
): Promise<void> {
  const keyHash = readIdempotencyKey(call);
  expectJson(call);
  const bytes = await readBody(call, BODY_BYTES.small);
  sendJson(call, 201, await video.sessions.create(key, { bytes, keyHash }), NO_STORE);
}

export async function getAuthorizationSession({ video }: SessionServices, call: Call, { key }: Caller): Promise<void> {
  const { session, isOpen } = await video.sessions.get(key, call.params.session_id ?? '');
  sendJson(call, 200, session, { ...NO_STORE, ...(isOpen && { 'retry-after': POLL_SECONDS }) });
}

/** The link is a secret of the person. */
const NO_STORE = { 'cache-control': 'no-store' } as const;

/** The query is the provider's, can be forged, and is not read: only the provider's own result decides. */
export async function sendReturnPage({ video }: SessionServices, call: Call): Promise<void> {
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
