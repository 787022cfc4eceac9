import type { Json, JsonObject } from '../json.ts';
import type { Stream } from '../stream.ts';

const KEEP = 1_000;

export type StoredResponse = {
  response: JsonObject;
  input: JsonObject[];
  /** Everything the model saw before this response: what a follow-up continues from. */
  history: JsonObject[];
  background: boolean;
  /** A background response is still running until somebody looks at it for the first time. */
  pending: boolean;
  replay: () => Stream;
};

/** The responses a provider keeps for `previous_response_id` and for reading back. */
export class ResponseStore {
  private readonly byId = new Map<string, StoredResponse>();
  private readonly items = new Map<string, JsonObject>();

  put(id: string, stored: StoredResponse): void {
    this.byId.set(id, stored);
    for (const item of [...stored.input, ...(stored.response.output as Json[] as JsonObject[])]) {
      if (typeof item.id === 'string') this.items.set(item.id, item);
    }
    forgetOldest(this.byId, KEEP);
    forgetOldest(this.items, KEEP * 8);
  }

  get(id: string): StoredResponse | undefined {
    return this.byId.get(id);
  }

  item(id: string): JsonObject | undefined {
    return this.items.get(id);
  }

  delete(id: string): boolean {
    return this.byId.delete(id);
  }
}

function forgetOldest(map: Map<string, unknown>, keep: number): void {
  for (const key of map.keys()) {
    if (map.size <= keep) return;
    map.delete(key);
  }
}
