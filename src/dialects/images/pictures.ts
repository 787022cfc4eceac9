/** The pictures of a reply, and what their bytes say about them. */
import { imageSize, MAX_IMAGE_HEAD } from '../../core/index.ts';
import type { HubItem, HubPart, MediaSource } from '../hub/types.ts';
import { formatOfMime } from '../wire/image-format.ts';

export type Picture = Extract<MediaSource, { kind: 'base64' }>;

export const picturesIn = (items: readonly HubItem[]): Picture[] =>
  items.flatMap((item) => (item.kind === 'message' ? item.parts.flatMap(pictureOf) : []));

const pictureOf = (part: HubPart): Picture[] =>
  part.kind === 'image' && part.source.kind === 'base64' ? [part.source] : [];

/** Base64 characters that hold the head of a file. */
const HEAD_CHARS = Math.ceil(MAX_IMAGE_HEAD / 3) * 4;

/** Such as `1376x768`; undefined if the bytes are of an unknown format. */
export function sizeOfPicture({ data }: Picture): string | undefined {
  const size = imageSize(Buffer.from(data.slice(0, HEAD_CHARS), 'base64'));
  return size && `${size.width}x${size.height}`;
}

/** Such as `png`; undefined for a media type that the API has no name for. */
export const formatOfPicture = ({ mime }: Picture): string | undefined => formatOfMime(mime);
