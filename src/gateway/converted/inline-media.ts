/**
 * Media named by URL, for providers that accept only bytes: fetched through the guarded fetcher and inlined. A URL that is not public
 * is rejected before a connection is opened.
 */
import { fail } from '../../core/index.ts';
import type { HubItem, HubPart, HubRequest, MediaSource } from '../../dialects/index.ts';

const MAX_BYTES = 20 * 2 ** 20;
const MAX_PARTS = 20;
const TIMEOUT_MS = 20_000;

/** The part of the guarded fetcher that is used here. */
export interface MediaFetcher {
  fetch(
    url: string,
    limits: { maxBytes: number; timeoutMs: number },
  ): Promise<{ ok: true; mime: string; bytes: Buffer } | { ok: false; message: string }>;
}

type UrlSource = Extract<MediaSource, { kind: 'url' }>;

export async function inlineMedia(request: HubRequest, fetcher: MediaFetcher): Promise<HubRequest> {
  const urls = new Set(
    request.items.flatMap(partsOf).flatMap((part) => (urlSource(part) ? [urlSource(part)?.url ?? ''] : [])),
  );
  if (urls.size === 0) return request;
  if (urls.size > MAX_PARTS)
    throw fail('invalid_request', `The request names more than ${MAX_PARTS} media URLs; send fewer, or inline them.`);
  const fetched = new Map(
    await Promise.all(
      [...urls].map(async (url): Promise<[string, MediaSource]> => [url, await fetchOne(url, fetcher)]),
    ),
  );
  return { ...request, items: request.items.map((item) => withBytes(item, fetched)) };
}

async function fetchOne(url: string, fetcher: MediaFetcher): Promise<MediaSource> {
  const result = await fetcher.fetch(url, { maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS });
  if (!result.ok) throw fail('invalid_value', `The media at ${shownUrl(url)} cannot be used: ${result.message}`);
  return { kind: 'base64', mime: result.mime, data: result.bytes.toString('base64') };
}

/** The URL without its query, which may hold a signature. */
const shownUrl = (url: string): string => url.split(/[?#]/, 1)[0]?.slice(0, 200) ?? '';

const partsOf = (item: HubItem): readonly HubPart[] =>
  item.kind === 'message' || item.kind === 'tool_result' ? item.parts : [];

const urlSource = (part: HubPart): UrlSource | undefined =>
  (part.kind === 'image' || part.kind === 'file' || part.kind === 'audio' || part.kind === 'video') &&
  part.source.kind === 'url'
    ? part.source
    : undefined;

function withBytes(item: HubItem, fetched: ReadonlyMap<string, MediaSource>): HubItem {
  if (item.kind !== 'message' && item.kind !== 'tool_result') return item;
  if (!item.parts.some(urlSource)) return item;
  const parts = item.parts.map((part) => {
    const source = fetched.get(urlSource(part)?.url ?? '');
    return source ? ({ ...part, source } as HubPart) : part;
  });
  return { ...item, parts };
}
