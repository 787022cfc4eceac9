/** What a connection remembers of its conversations: the latest response of each lane with all that led to it, within a budget. */
import { WEBSOCKET } from '../../rules/index.ts';

export interface LaneEntry {
  readonly responseId: string;
  /** A stored response that comes before all items. */
  readonly base: string | undefined;
  /** Input and output so far, as items of the responses dialect, exactly as the client knows them. */
  readonly items: readonly unknown[];
  readonly bytes: number;
}

export class LaneHistory {
  readonly #latest = new Map<string, LaneEntry>();

  find(responseId: string): LaneEntry | undefined {
    for (const link of this.#latest.values()) if (link.responseId === responseId) return link;
    return undefined;
  }

  set(lane: string, responseId: string, items: readonly unknown[], base?: string): void {
    const link = { responseId, base, items, bytes: JSON.stringify(items).length };
    // Taken out first, so that the map's order is the order of use and the oldest goes when the budget is spent.
    this.#latest.delete(lane);
    this.#latest.set(lane, link);
    let total = [...this.#latest.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    for (const [oldest, { bytes }] of this.#latest) {
      if (total <= WEBSOCKET.cacheBytes) return;
      this.#latest.delete(oldest);
      total -= bytes;
    }
  }

  /** After a failure the lane cannot go on from what it referred to; other lanes still can. */
  drop(lane: string, responseId: string | undefined): void {
    if (responseId !== undefined && this.#latest.get(lane)?.responseId === responseId) this.#latest.delete(lane);
  }
}
