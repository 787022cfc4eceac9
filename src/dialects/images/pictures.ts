/** The pictures of a reply, and what their bytes say about them. */
import type { CompleteReply } from '../codec.ts';
import type { Fault } from '../errors/fault.ts';
import type { HubItem, HubPart, HubStop, MediaSource } from '../hub/types.ts';
import { formatOfMime, sizeOfImage } from '../wire/image-format.ts';

export type Picture = Extract<MediaSource, { kind: 'base64' }>;

export const picturesIn = (items: readonly HubItem[]): Picture[] =>
  items.flatMap((item) => (item.kind === 'message' ? item.parts.flatMap(pictureOf) : []));

const pictureOf = (part: HubPart): Picture[] =>
  part.kind === 'image' && part.source.kind === 'base64' ? [part.source] : [];

/** Such as `1376x768`; undefined if the bytes are of an unknown format. */
export function sizeOfPicture({ data }: Picture): string | undefined {
  const size = sizeOfImage(data);
  return size && `${size.width}x${size.height}`;
}

/** Such as `png`; undefined for a media type that the API has no name for. */
export const formatOfPicture = ({ mime }: Picture): string | undefined => formatOfMime(mime);

const BLOCKED: ReadonlySet<HubStop> = new Set<HubStop>(['filter', 'refusal']);

export function faultIn({ items, stop, refusal }: CompleteReply): Fault | undefined {
  if (picturesIn(items).length > 0) return undefined;
  if (BLOCKED.has(stop)) {
    const message = refusal ?? 'The provider blocked the image.';
    return { kind: 'request', error: { code: 'content_policy_violation', message } };
  }
  // The account works, so it needs no cooldown. The same request would be paid for again and most likely fail again.
  const message = `The model replied without an image (stop reason: ${stop}); describe the image in the prompt.`;
  return { kind: 'no_result', error: { code: 'upstream_error', message } };
}
