/**
 * Encoder of grounding metadata: the sources of a reply as chunks, and the places that cite them.
 * Places count the UTF-8 bytes of all text of the reply, as SDKs join it: the parts of a stream are pieces of one text.
 */
import type { HubAnnotation, HubItem, JsonObject } from '../../hub/types.ts';

export class Grounding {
  readonly #chunks = new Map<string, { readonly index: number; readonly title: string }>();
  readonly #supports: JsonObject[] = [];
  readonly #queries: string[] = [];
  #bytes = 0;

  addItem(item: HubItem): void {
    if (item.kind === 'server_call' && item.tool === 'web_search') this.#queries.push(...(item.queries ?? []));
    if (item.kind !== 'message') return;
    for (const part of item.parts) {
      if (part.kind !== 'text') continue;
      if (part.annotations) this.#addSources(part.text, part.annotations);
      this.#bytes += Buffer.byteLength(part.text);
    }
  }

  /** A member of the candidate, or nothing. */
  get member(): { readonly groundingMetadata?: JsonObject } {
    if (this.#chunks.size === 0 && this.#queries.length === 0) return {};
    const chunks = [...this.#chunks].map(([uri, { title }]) => ({ web: { uri, title } }));
    return {
      groundingMetadata: {
        ...(this.#queries.length > 0 && { webSearchQueries: this.#queries }),
        groundingChunks: chunks,
        groundingSupports: this.#supports,
      },
    };
  }

  /** One support for each place, with all of its sources. */
  #addSources(text: string, annotations: readonly HubAnnotation[]): void {
    const places = new Map<string, { readonly start: number; readonly end: number; readonly chunks: Set<number> }>();
    for (const { url, title, start, end } of annotations) {
      if (url === '') continue;
      const chunk = this.#chunkOf(url, title);
      if (start === undefined || end === undefined || end <= start || end > text.length) continue;
      const key = `${start}-${end}`;
      const place = places.get(key) ?? { start, end, chunks: new Set() };
      place.chunks.add(chunk);
      places.set(key, place);
    }
    const bytesAt = byteCounter(text);
    for (const { start, end, chunks } of [...places.values()].sort((a, b) => a.start - b.start)) {
      const startIndex = this.#bytes + bytesAt(start);
      const cited = text.slice(start, end);
      const segment = {
        ...(startIndex > 0 && { startIndex }),
        endIndex: startIndex + Buffer.byteLength(cited),
        text: cited,
      };
      this.#supports.push({ segment, groundingChunkIndices: [...chunks] });
    }
  }

  #chunkOf(url: string, title: string): number {
    const known = this.#chunks.get(url);
    if (known) return known.index;
    const index = this.#chunks.size;
    this.#chunks.set(url, { index, title });
    return index;
  }
}

/** Bytes before a position, for positions in their order: the text is passed through once. */
function byteCounter(text: string): (position: number) => number {
  let at = 0;
  let bytes = 0;
  return (position) => {
    bytes += Buffer.byteLength(text.slice(at, position));
    at = position;
    return bytes;
  };
}
