/**
 * Serialization of interleaved items for dialects with one open item at a
 * time: later ones wait, in the order in which they opened.
 */
import type { HubEvent } from './types.ts';

export type ItemEvent = Extract<HubEvent, { index: number }>;

/** Limit of held-back text (8 Mi characters), so that a misbehaving upstream cannot exhaust memory. */
const MAX_HELD_CHARS = 8 * 2 ** 20;

export class ItemSerializer {
  /** Held-back events by item index, oldest item first. */
  readonly #waiting = new Map<number, ItemEvent[]>();
  #active: number | undefined;
  #heldChars = 0;

  /** True when the held-back text exceeds the limit; the caller must fail the stream. */
  get isOverfull(): boolean {
    return this.#heldChars > MAX_HELD_CHARS;
  }

  push(event: ItemEvent): readonly ItemEvent[] {
    if (event.kind === 'item') this.#active ??= event.index;
    if (event.index !== this.#active) {
      this.#hold(event);
      return [];
    }
    return event.kind === 'item_end' ? [event, ...this.#release()] : [event];
  }

  #hold(event: ItemEvent): void {
    const queue = this.#waiting.get(event.index);
    if (queue) queue.push(event);
    else this.#waiting.set(event.index, [event]);
    if ('text' in event) this.#heldChars += event.text.length;
  }

  /** Releases the complete items that waited and the first incomplete one, which becomes the current item. */
  #release(): ItemEvent[] {
    const released: ItemEvent[] = [];
    this.#active = undefined;
    for (const [index, events] of this.#waiting) {
      this.#waiting.delete(index);
      for (const event of events) {
        if ('text' in event) this.#heldChars -= event.text.length;
        released.push(event);
      }
      if (events.at(-1)?.kind === 'item_end') continue;
      this.#active = index;
      break;
    }
    return released;
  }
}
