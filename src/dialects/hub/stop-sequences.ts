/**
 * Stop sequences for upstreams without such a field: cuts visible text,
 * never thinking or tool arguments, before the first match.
 */
import type { HubEvent, HubItem, HubPart, HubReply, HubText } from './types.ts';

interface Match {
  readonly at: number;
  readonly sequence: string;
}

/**
 * The match that ends first, the longest of several, as a provider stops.
 * By its start, it would depend on the chunks of the stream.
 */
function firstMatch(text: string, sequences: readonly string[]): Match | undefined {
  let found: Match | undefined;
  for (const sequence of sequences) {
    const at = text.indexOf(sequence);
    if (at >= 0 && (found === undefined || isEarlier({ at, sequence }, found))) found = { at, sequence };
  }
  return found;
}

const endOf = ({ at, sequence }: Match): number => at + sequence.length;
const isEarlier = (one: Match, other: Match): boolean =>
  endOf(one) < endOf(other) || (endOf(one) === endOf(other) && one.at < other.at);

interface OpenItem {
  readonly item: HubItem;
  readonly parts: string[];
  args: string;
}

/** Cuts a stream of hub events. After a match it closes the open items and passes on only the finish or an error. */
export class StopCutter {
  readonly #sequences: readonly string[];
  /** Characters to hold back at the end of a text, because they may begin a sequence. */
  readonly #maxTail: number;
  readonly #open = new Map<number, OpenItem>();
  #tail = '';
  #tailOf: { index: number; part: number } | undefined;
  #matched: string | undefined;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences;
    this.#maxTail = Math.max(...sequences.map((sequence) => sequence.length)) - 1;
  }

  /** True after a match: only the finish, for its usage, is still of interest. */
  get isCut(): boolean {
    return this.#matched !== undefined;
  }

  push(event: HubEvent): readonly HubEvent[] {
    if (this.#matched !== undefined) return afterCut(event, this.#matched);
    if (event.kind === 'text') return this.#pushText(event);
    const flushed = this.#endsTail(event) ? this.#flush() : [];
    if (event.kind === 'item') this.#open.set(event.index, { item: event.item, parts: [], args: '' });
    if (event.kind === 'args') this.#update(event.index, (open) => (open.args += event.text));
    if (event.kind === 'item_end') this.#open.delete(event.index);
    return [...flushed, event];
  }

  /** The tail is held back while its part can still grow. */
  #endsTail(event: HubEvent): boolean {
    return (
      event.kind === 'finish' ||
      event.kind === 'error' ||
      ('index' in event && event.kind !== 'item' && event.index === this.#tailOf?.index)
    );
  }

  #pushText({ index, part, text }: Extract<HubEvent, { kind: 'text' }>): readonly HubEvent[] {
    const isSamePart = this.#tailOf?.index === index && this.#tailOf.part === part;
    const flushed = isSamePart ? [] : this.#flush();
    const joined = this.#tail + text;
    this.#tailOf = { index, part };
    const match = firstMatch(joined, this.#sequences);
    if (match) return [...flushed, ...this.#cut(index, part, joined.slice(0, match.at), match.sequence)];
    const safe = Math.max(0, joined.length - this.#maxTail);
    this.#tail = joined.slice(safe);
    return safe === 0 ? flushed : [...flushed, this.#emit(index, part, joined.slice(0, safe))];
  }

  #cut(index: number, part: number, before: string, sequence: string): HubEvent[] {
    this.#matched = sequence;
    this.#tail = '';
    const text = before === '' ? [] : [this.#emit(index, part, before)];
    const ends = [...this.#open]
      .sort(([a], [b]) => a - b)
      .map(([n, open]): HubEvent => ({ kind: 'item_end', index: n, item: closeItem(open) }));
    return [...text, ...ends];
  }

  #flush(): readonly HubEvent[] {
    if (this.#tail === '' || !this.#tailOf) return [];
    const { index, part } = this.#tailOf;
    const tail = this.#tail;
    this.#tail = '';
    return [this.#emit(index, part, tail)];
  }

  #emit(index: number, part: number, text: string): HubEvent {
    this.#update(index, (open) => (open.parts[part] = (open.parts[part] ?? '') + text));
    return { kind: 'text', index, part, text };
  }

  #update(index: number, change: (open: OpenItem) => void): void {
    const open = this.#open.get(index);
    if (open) change(open);
  }
}

function afterCut(event: HubEvent, sequence: string): readonly HubEvent[] {
  if (event.kind === 'finish')
    return [{ kind: 'finish', stop: 'stop_sequence', stopSequence: sequence, usage: event.usage }];
  return event.kind === 'error' ? [event] : [];
}

/** Completes an item that was open at the cut from the deltas emitted so far. */
function closeItem({ item, parts, args }: OpenItem): HubItem {
  if (item.kind === 'message') return { ...item, parts: parts.map((text) => ({ kind: 'text', text })) };
  return item.kind === 'tool_call' ? { ...item, args: args || '{}' } : item;
}

export function cutReply(reply: HubReply, sequences: readonly string[]): HubReply {
  const items: HubItem[] = [];
  for (const item of reply.items) {
    const cut = item.kind === 'message' ? cutParts(item.parts, sequences) : undefined;
    if (item.kind !== 'message' || cut === undefined) {
      items.push(item);
      continue;
    }
    // A text that ends at its stop sequence is complete, even if the length limit cut the rest of the reply.
    const { incomplete: _, ...message } = item;
    if (cut.parts.length > 0) items.push({ ...message, parts: cut.parts });
    return { ...reply, items, stop: 'stop_sequence', stopSequence: cut.sequence };
  }
  return reply;
}

/** Returns undefined if no sequence occurs. */
function cutParts(
  parts: readonly HubPart[],
  sequences: readonly string[],
): { readonly parts: HubPart[]; readonly sequence: string } | undefined {
  const kept: HubPart[] = [];
  for (const part of parts) {
    const match = part.kind === 'text' ? firstMatch(part.text, sequences) : undefined;
    if (!match || part.kind !== 'text') {
      kept.push(part);
      continue;
    }
    if (match.at > 0) kept.push(cutText(part, match.at));
    return { parts: kept, sequence: match.sequence };
  }
  return undefined;
}

/** Drops the citations of removed text. */
function cutText({ annotations, ...part }: HubText, at: number): HubText {
  const kept = annotations?.filter(({ end = 0 }) => end <= at) ?? [];
  return { ...part, text: part.text.slice(0, at), ...(kept.length > 0 && { annotations: kept }) };
}
