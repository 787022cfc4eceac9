/**
 * The events of a converted stream until its reply begins: with a token, a call, a picture, or an end that is complete (G 8). Until then another
 * account may take the call. The native counterpart reads the provider's events: `native/reply-beginning.ts`.
 */
import { type Fault, type HubEvent, type HubItem, type HubReply, type HubUsage, unfold } from '../../dialects/index.ts';
import { type FaultKind, faultRow } from '../../rules/index.ts';

export class ReplyOpening {
  #held: HubEvent[] = [];
  #hasBegun: boolean;
  #isAtWork = false;

  /** A later round goes on with a reply that has begun. */
  constructor(hasBegun: boolean) {
    this.#hasBegun = hasBegun;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Nothing has arrived that belongs to a reply, and nothing that says that the model works on one. */
  get isSilent(): boolean {
    return !this.#hasBegun && !this.#isAtWork;
  }

  /** Returns the events that the client gets now: none until the reply begins, then also those before. */
  push(event: HubEvent): readonly HubEvent[] {
    if (this.#hasBegun) return [event];
    if (event.kind === 'item') this.#isAtWork ||= isWork(event.item);
    this.#hasBegun = begins(event);
    if (!isIdle(event)) this.#held.push(event);
    return this.#hasBegun ? this.#held.splice(0) : [];
  }
}

/** A failed attempt: the provider ended before it had begun to reply. */
export const stillborn = (kind: FaultKind): Fault => ({
  kind,
  error: { code: faultRow(kind).code, message: 'The provider ended its response before the reply began.' },
});

/** A whole reply without a token, a call or a report of usage: the provider made nothing. */
export function isStillborn(reply: HubReply): boolean {
  const opening = new ReplyOpening(false);
  for (const event of unfold(reply)) opening.push(event);
  return !opening.hasBegun;
}

/** Events without content are not kept: a provider may send any number of them. */
const isIdle = (event: HubEvent): boolean =>
  event.kind === 'ping' ||
  ((event.kind === 'text' || event.kind === 'think' || event.kind === 'refusal' || event.kind === 'args') &&
    event.text === '');

const isWork = ({ kind }: HubItem): boolean => kind === 'reasoning' || kind === 'server_call';

function begins(event: HubEvent): boolean {
  switch (event.kind) {
    case 'text':
    case 'think':
    case 'refusal':
    case 'args':
      return event.text !== '';
    case 'annotation':
      return true;
    case 'item':
      return event.item.kind !== 'server_call' && hasContent(event.item);
    case 'item_end':
      return hasContent(event.item);
    case 'finish':
      return event.stop !== 'end' || isReported(event.usage);
    default:
      return false;
  }
}

function hasContent(item: HubItem): boolean {
  if (item.kind === 'message')
    return item.parts.some((part) => (part.kind !== 'text' && part.kind !== 'refusal') || part.text !== '');
  if (item.kind === 'reasoning') return item.opaque !== undefined || item.summary.some((text) => text !== '');
  return true;
}

const isReported = ({ input, output, estimated }: HubUsage): boolean => !estimated && input + output > 0;
