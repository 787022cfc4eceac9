/** Conversation history of a connection: the latest response of each lane with all items before it, within a byte budget. */
import { WEBSOCKET } from '../../rules/index.ts';

export interface LaneEntry {
  readonly responseId: string;
  /** A stored response that precedes all items. */
  readonly base: string | undefined;
  /** Input and output so far, as items of the responses dialect, as the client received them. */
  readonly items: readonly unknown[];
  readonly bytes: number;
}

export class LaneHistory {
  readonly #latest = new Map<string, LaneEntry>();

  find(responseId: string): LaneEntry | undefined {
    for (const entry of this.#latest.values()) if (entry.responseId === responseId) return entry;
    return undefined;
  }

  set(lane: string, responseId: string, items: readonly unknown[], base?: string): void {
    const entry = { responseId, base, items, bytes: JSON.stringify(items).length };
    // Deleted first, so that the map is in order of use and the oldest entry is removed when the budget is exceeded.
    this.#latest.delete(lane);
    this.#latest.set(lane, entry);
    let total = [...this.#latest.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [oldest, { bytes }] of this.#latest) {
      if (total <= WEBSOCKET.cacheBytes) return;
      this.#latest.delete(oldest);
      total -= bytes;
    }
  }

  /** After a failure this lane cannot continue from the response; other lanes still can. */
  drop(lane: string, responseId: string | undefined): void {
    if (responseId !== undefined && this.#latest.get(lane)?.responseId === responseId) this.#latest.delete(lane);
  }
}
