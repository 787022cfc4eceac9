/**
 * What the client has been told of an answer, over all its rounds. A provider may pause in the middle of its own tools' work and
 * expect to be asked again with what it has said; the client sees one answer, its items counted on and its usage added up.
 */
import type { HubEvent, HubItem, HubReply, HubStop, HubUsage, StreamEncoder } from '../../dialects/index.ts';
import type { ClientStream } from '../client-stream.ts';

/** Rounds after which a pause is the end all the same. */
const MAX_ROUNDS = 5;

export class ReplyRounds {
  readonly #open: () => StreamEncoder;
  #encoder: StreamEncoder | undefined;
  /** Set when something has been written. */
  outlet: ClientStream | undefined;
  /** Wakes the upstream of the present round. */
  resume: () => void = () => {};
  /** The answer ends here, in the middle: the client left, or nobody goes on. Charges what was used, as far as it is known. */
  onAbandoned: () => void = () => {};
  #items: readonly HubItem[] = [];
  #usage: HubUsage | undefined;
  #rounds = 1;
  isPaused = false;

  constructor(open: () => StreamEncoder) {
    this.#open = open;
  }

  /** Answers that are told as one body never need it. */
  get encoder(): StreamEncoder {
    this.#encoder ??= this.#open();
    return this.#encoder;
  }

  /** Items of the rounds that are over. */
  get items(): readonly HubItem[] {
    return this.#items;
  }

  /** Is this end only a pause, and will the provider be asked again? */
  continuesAfter(stop: HubStop): boolean {
    return stop === 'pause' && this.#rounds < MAX_ROUNDS;
  }

  /** `charge` is called with what all rounds so far used, should there be no further one. */
  pause(items: readonly HubItem[], usage: HubUsage, charge: (usage: HubUsage) => void): void {
    const used = sumUsage(this.#usage, usage);
    this.isPaused = true;
    this.#items = [...this.#items, ...items];
    this.#usage = used;
    this.onAbandoned = () => charge(used);
  }

  /** What the rounds that are over used, and this. */
  usageWith(usage: HubUsage): HubUsage {
    return sumUsage(this.#usage, usage);
  }

  nextRound(): void {
    this.isPaused = false;
    this.#rounds += 1;
  }

  /** An event of the present round as part of the whole answer; undefined when it has been said before. */
  renumbered(event: HubEvent): HubEvent | undefined {
    if (this.#rounds === 1) return event;
    if (event.kind === 'start') return undefined;
    if (event.kind === 'finish') return { ...event, usage: sumUsage(this.#usage, event.usage) };
    return 'index' in event ? { ...event, index: event.index + this.#items.length } : event;
  }

  /** The answer with the rounds before it. */
  merged(reply: HubReply): HubReply {
    return this.#rounds === 1
      ? reply
      : { ...reply, items: [...this.#items, ...reply.items], usage: sumUsage(this.#usage, reply.usage) };
  }
}

export function sumUsage(before: HubUsage | undefined, usage: HubUsage): HubUsage {
  if (!before) return usage;
  const sum: Record<string, unknown> = { ...before, ...usage };
  for (const [name, value] of Object.entries(usage)) {
    const earlier = before[name as keyof HubUsage];
    if (typeof value === 'number' && typeof earlier === 'number') sum[name] = value + earlier;
  }
  return sum as unknown as HubUsage;
}
