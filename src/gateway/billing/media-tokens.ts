/**
 * Tokens of media, each by its own unit: pictures by their size,
 * audio and video by their length, documents by their pages.
 */
import { Base64File, imageSize, MAX_IMAGE_HEAD, mediaLength, type StepBudget } from '../../core/index.ts';
import type { MediaSource } from '../../dialects/index.ts';
import { MEDIA_TOKENS } from '../../rules/index.ts';

export type MediaClaim = 'image' | 'audio' | 'video' | 'file';

/**
 * Estimated, of one part of a request. What it is called counts only where its bytes do not tell.
 * `steps`: of the whole request.
 */
export function estimateMedia(kind: MediaClaim, source: MediaSource, steps: StepBudget): number {
  if (source.kind !== 'base64') return kind === 'image' ? MEDIA_TOKENS.image : MEDIA_TOKENS.file;
  const file = new Base64File(source.data.length, (index) => source.data.charCodeAt(index));
  const media = mediaLength(file, steps);
  if (media.kind === 'image') return estimateImage(source.data);
  if (media.kind === 'document') return pagesOf(source.data) * MEDIA_TOKENS.page;
  const seconds = 'seconds' in media ? media.seconds : undefined;
  if (seconds !== undefined && media.kind !== 'unknown') return tokensOfLength(media.kind, seconds);
  return kind === 'image' ? MEDIA_TOKENS.image : MEDIA_TOKENS.file;
}

const HEAD_CHARS = Math.ceil(MAX_IMAGE_HEAD / 3) * 4;

function estimateImage(data: string): number {
  const size = imageSize(Buffer.from(data.slice(0, HEAD_CHARS), 'base64'));
  const tokens = size ? Math.ceil((size.width * size.height) / MEDIA_TOKENS.pixels) : 0;
  if (tokens === 0) return MEDIA_TOKENS.image;
  return Math.min(MEDIA_TOKENS.image, Math.max(MEDIA_TOKENS.minImage, tokens));
}

/**
 * At most, of audio or video of this length.
 * Providers read one frame of a video a second unless the request says otherwise.
 */
export function tokensOfLength(kind: 'audio' | 'video', seconds: number, framesPerSecond = 1): number {
  const sound = seconds * MEDIA_TOKENS.audioSecond;
  if (kind === 'audio') return Math.ceil(sound);
  return Math.ceil((seconds + 1) * framesPerSecond * MEDIA_TOKENS.videoFrame + sound);
}

/** Of base64: as much of a document's begin and of its end is searched for its pages. */
const SEARCHED_CHARS = 512 * 1024;
/** Of a document whose pages are not found in it. */
const BYTES_PER_PAGE = 50_000;
const MAX_PAGES = 10_000;

export const tokensOfDocument = (bytes: number): number => Math.ceil(bytes / BYTES_PER_PAGE) * MEDIA_TOKENS.page;

/**
 * A PDF counts its pages in its tree of pages, or has an object for each.
 * Both may be compressed; then the size decides.
 */
function pagesOf(data: string): number {
  const isWhole = data.length <= 2 * SEARCHED_CHARS;
  const searched = isWhole ? [data] : [data.slice(0, SEARCHED_CHARS), data.slice(-SEARCHED_CHARS)];
  const text = searched.map((part) => Buffer.from(part, 'base64').toString('latin1')).join('\n');
  const counts = [...text.matchAll(/\/Count (\d{1,5})\b/g)].map(([, count]) => Number(count));
  const objects = text.match(/\/Type ?\/Page\b/g)?.length ?? 0;
  const found = Math.min(
    MAX_PAGES,
    counts.reduce((max, count) => Math.max(max, count), objects),
  );
  return found > 0 ? found : Math.ceil((data.length * 3) / 4 / BYTES_PER_PAGE);
}
