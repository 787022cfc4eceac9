/** Stored responses of the OpenAI-style provider. */
import type { Stream } from '../frames.ts';
import type { Json, JsonObject } from '../json.ts';

const KEEP = 1_000;

export interface StoredResponse {
  response: JsonObject;
  input: JsonObject[];
  /** Input and output up to this response; a follow-up request continues it. */
  history: JsonObject[];
  background: boolean;
  /** A background response is pending until it is read for the first time. */
  pending: boolean;
  replay: () => Stream;
}

export class ResponseStore {
  readonly #byId = new Map<string, StoredResponse>();
  readonly #items = new Map<string, JsonObject>();

  put(id: string, stored: StoredResponse): void {
    this.#byId.set(id, stored);
    for (const item of [...stored.input, ...(stored.response.output as Json[] as JsonObject[])]) {
      if (typeof item.id === 'string') this.#items.set(item.id, item);
    }
    dropOldest(this.#byId, KEEP);
    dropOldest(this.#items, KEEP * 8);
  }

  get(id: string): StoredResponse | undefined {
    return this.#byId.get(id);
  }

  item(id: string): JsonObject | undefined {
    return this.#items.get(id);
  }

  delete(id: string): boolean {
    return this.#byId.delete(id);
  }
}

function dropOldest(map: Map<string, unknown>, keep: number): void {
  for (const key of map.keys()) {
    if (map.size <= keep) return;
    map.delete(key);
  }
}
