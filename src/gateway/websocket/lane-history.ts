/**
 * History of a connection: the latest response of each lane with all items before it, as JSON text,
 * which is smaller, in a byte budget.
 */
import { fail } from '../../core/index.ts';
import type { BodyReservation } from '../../platform/web/index.ts';
import { WEBSOCKET } from '../../rules/index.ts';

interface LaneEntry {
  readonly responseId: string;
  readonly base: string | undefined;
  /** Input and output so far, as a list of items of the responses dialect, as the client received them. */
  readonly json: Buffer;
  readonly memory: BodyReservation;
}

export class LaneHistory {
  readonly #reserve: () => BodyReservation;
  readonly #latest = new Map<string, LaneEntry>();
  #bytes = 0;

  constructor(reserve: () => BodyReservation) {
    this.#reserve = reserve;
  }

  find(responseId: string): LaneEntry | undefined {
    for (const entry of this.#latest.values()) if (entry.responseId === responseId) return entry;
    return undefined;
  }

  /** `json`: a list of items. Throws when they do not fit; the lane then has no history. */
  set(lane: string, responseId: string, json: Buffer, base?: string): void {
    this.#remove(lane);
    if (json.length > WEBSOCKET.cacheBytes)
      throw fail(
        'request_too_large',
        `The conversation of a lane may have ${WEBSOCKET.cacheBytes / 2 ** 20} MiB; start a new one with less input.`,
      );
    // The map is in order of use, so the oldest entries are removed first.
    for (const oldest of this.#latest.keys()) {
      if (this.#bytes + json.length <= WEBSOCKET.cacheBytes) break;
      this.#remove(oldest);
    }
    const memory = this.#reserve();
    memory.add(json.length);
    this.#latest.set(lane, { responseId, base, json, memory });
    this.#bytes += json.length;
  }

  /** After a failure this lane cannot continue from the response; other lanes still can. */
  drop(lane: string, responseId: string | undefined): void {
    if (responseId !== undefined && this.#latest.get(lane)?.responseId === responseId) this.#remove(lane);
  }

  clear(): void {
    for (const lane of this.#latest.keys()) this.#remove(lane);
  }

  #remove(lane: string): void {
    const entry = this.#latest.get(lane);
    if (!entry) return;
    this.#latest.delete(lane);
    this.#bytes -= entry.json.length;
    entry.memory.release();
  }
}
