/**
 * Media named by URL, for providers that accept only bytes:
 * fetched through the guarded fetcher. A URL that is not public is rejected.
 */
import { ApiError, fail } from '../../core/index.ts';
import { clientOf, type HubItem, type HubPart, type HubRequest, type MediaSource } from '../../dialects/index.ts';
import type { BodyReservation } from '../../platform/web/index.ts';

const MIB = 2 ** 20;
const MAX_BYTES = 20 * MIB;
const MAX_PARTS = 20;
/** All media of a request together, each as often as the request names it. */
const MAX_TOTAL_BYTES = 40 * MIB;
const TIMEOUT_MS = 20_000;
/**
 * Memory of media on the way to the provider: the bytes,
 * base64 in the request, in its JSON text and in the encoded text.
 */
const MEMORY_PER_BYTE = 5;

export interface MediaFetcher {
  fetch(
    url: string,
    limits: { maxBytes: number; timeoutMs: number; admit: (bytes: number) => boolean },
  ): Promise<{ ok: true; mime: string; bytes: Buffer } | { ok: false; message: string }>;
}

type UrlSource = Extract<MediaSource, { kind: 'url' }>;

/** `reserve` opens the request's part of the memory for bodies, which the media take too. */
export async function inlineMedia(
  request: HubRequest,
  fetcher: MediaFetcher,
  reserve: () => Pick<BodyReservation, 'add'>,
): Promise<HubRequest> {
  const uses = usesByUrl(request);
  if (uses.size === 0) return request;
  const param = clientOf(request.dialect).fieldNames.conversation;
  const rejection = (code: 'invalid_request' | 'invalid_value', message: string): ApiError =>
    fail(code, `${param}: ${message}`, { param });
  if (uses.size > MAX_PARTS)
    throw rejection(
      'invalid_request',
      `The request names more than ${MAX_PARTS} media URLs; send fewer, or inline them.`,
    );
  const memory = reserve();
  let total = 0;
  let refused: ApiError | undefined;
  // After the first rejection nothing more is downloaded.
  const admit = (bytes: number): boolean => {
    total += bytes;
    if (total > MAX_TOTAL_BYTES) refused ??= rejection('invalid_request', TOO_LARGE_TOGETHER);
    if (!refused) refused = refusalOf(() => memory.add(bytes * MEMORY_PER_BYTE));
    return refused === undefined;
  };
  const fetched = new Map(
    await Promise.all(
      [...uses].map(async ([url, count]): Promise<[string, MediaSource]> => {
        const result = await fetcher.fetch(url, {
          maxBytes: MAX_BYTES,
          timeoutMs: TIMEOUT_MS,
          admit: (bytes) => admit(bytes * count),
        });
        if (result.ok) return [url, { kind: 'base64', mime: result.mime, data: result.bytes.toString('base64') }];
        throw refused ?? rejection('invalid_value', `The media at ${shownUrl(url)} cannot be used: ${result.message}`);
      }),
    ),
  );
  return { ...request, items: request.items.map((item) => withBytes(item, fetched)) };
}

function usesByUrl(request: HubRequest): Map<string, number> {
  const uses = new Map<string, number>();
  for (const part of request.items.flatMap(partsOf)) {
    const url = urlSource(part)?.url;
    if (url !== undefined) uses.set(url, (uses.get(url) ?? 0) + 1);
  }
  return uses;
}

function refusalOf(reserve: () => void): ApiError | undefined {
  try {
    reserve();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

const TOO_LARGE_TOGETHER =
  `The media at the URLs of the request have more than ${MAX_TOTAL_BYTES / MIB} MiB together, ` +
  'counted as often as it names them; send fewer or smaller ones.';

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
