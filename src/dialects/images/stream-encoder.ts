/** Streams of the images API. A picture arrives in one piece, so its event is the last one and carries the usage. */
import { SSE_COMMENT, sse } from '../../core/index.ts';
import { errorRow, errorType, usualStatus } from '../../rules/index.ts';
import type { ReplyContext, StreamEncoder } from '../codec.ts';
import type { HubError, HubEvent, HubItem, HubUsage } from '../hub/types.ts';
import { compact } from '../wire/read.ts';
import { encodeUsage } from './encode-reply.ts';
import { formatOfPicture, type Picture, picturesIn, sizeOfPicture } from './pictures.ts';

export function openEncoder({ created }: ReplyContext): StreamEncoder {
  const items: HubItem[] = [];
  return {
    push(event: HubEvent): string {
      if (event.kind === 'item_end') items.push(event.item);
      if (event.kind === 'error') return errorEvent(event.error);
      return event.kind === 'finish' ? completedEvents(picturesIn(items), event.usage, created) : '';
    },
    heartbeat: () => SSE_COMMENT,
  };
}

/** The usage is that of the whole reply, so only the last of several pictures has it. */
const completedEvents = (pictures: readonly Picture[], usage: HubUsage, created: number): string =>
  pictures.map((picture, n) => completed(picture, created, n === pictures.length - 1 ? usage : undefined)).join('');

function completed(picture: Picture, created: number, usage: HubUsage | undefined): string {
  const event = compact({
    type: 'image_generation.completed',
    b64_json: picture.data,
    created_at: created,
    // Members that the SDKs declare for every event; the provider made its own choice.
    background: 'auto',
    quality: 'auto',
    output_format: formatOfPicture(picture),
    size: sizeOfPicture(picture),
    usage: usage && encodeUsage(usage),
  });
  return sse(JSON.stringify(event), event.type);
}

function errorEvent({ code, message, status, param }: HubError): string {
  const row = errorRow(code);
  const type = row.typeIn?.openai ?? errorType('openai', status ?? usualStatus(row));
  return sse(JSON.stringify({ type: 'error', error: { message, type, param: param ?? null, code } }), 'error');
}
