/**
 * Items one strictly after the other, for dialects that cannot tell two at once: events of an item that opened while another
 * grows wait until that one has ended. Order of items is the order in which they opened.
 */
import type { HubEvent } from './types.ts';

export type ItemEvent = Extract<HubEvent, { index: number }>;

/** What interleaved items may pile up to; beyond it something is wrong upstream. */
const MAX_HELD_CHARS = 8 * 2 ** 20;

export class ItemSerializer {
  /** Events of items whose turn has not come, oldest item first. */
  readonly #waiting = new Map<number, ItemEvent[]>();
  #active: number | undefined;
  #heldChars = 0;

  /** More waits than can be held back. */
  get isOverfull(): boolean {
    return this.#heldChars > MAX_HELD_CHARS;
  }

  push(event: ItemEvent): readonly ItemEvent[] {
    if (event.kind === 'item') this.#active ??= event.index;
    if (event.index !== this.#active) {
      this.#hold(event);
      return [];
    }
    return event.kind === 'item_end' ? [event, ...this.#next()] : [event];
  }

  #hold(event: ItemEvent): void {
    const queue = this.#waiting.get(event.index);
    if (queue) queue.push(event);
    else this.#waiting.set(event.index, [event]);
    if ('text' in event) this.#heldChars += event.text.length;
  }

  /** The items that waited, as far as they have come; goes on while they are complete. */
  #next(): ItemEvent[] {
    const released: ItemEvent[] = [];
    this.#active = undefined;
    for (const [index, events] of this.#waiting) {
      this.#waiting.delete(index);
      for (const event of events) if ('text' in event) this.#heldChars -= event.text.length;
      released.push(...events);
      if (events.at(-1)?.kind === 'item_end') continue;
      this.#active = index;
      break;
    }
    return released;
  }
}
