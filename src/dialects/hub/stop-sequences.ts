/**
 * Stop sequences for upstreams that have no field for them: the text is cut before the first match, as a provider would do it.
 * Only visible text counts, not thinking and not arguments; what follows the match is not told.
 */
import type { HubEvent, HubItem, HubPart, HubReply, HubText } from './types.ts';

export interface StopCutter {
  push(event: HubEvent): readonly HubEvent[];
  /** A sequence was met: nothing more will be told but the finish, which only brings the usage. */
  readonly isCut: boolean;
}

interface Match {
  readonly at: number;
  readonly sequence: string;
}

function firstMatch(text: string, sequences: readonly string[]): Match | undefined {
  let found: Match | undefined;
  for (const sequence of sequences) {
    const at = text.indexOf(sequence);
    if (at >= 0 && (found === undefined || at < found.at)) found = { at, sequence };
  }
  return found;
}

export function openStopCutter(sequences: readonly string[]): StopCutter {
  return new LiveStopCutter(sequences);
}

class LiveStopCutter implements StopCutter {
  readonly #sequences: readonly string[];
  /** So much at the end of the text may be the beginning of a sequence and is held back. */
  readonly #reach: number;
  readonly #open = new Map<number, { item: HubItem; parts: string[]; args: string }>();
  #tail = '';
  #tailOf: { index: number; part: number } | undefined;
  #met: string | undefined;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences;
    this.#reach = Math.max(...sequences.map((sequence) => sequence.length)) - 1;
  }

  get isCut(): boolean {
    return this.#met !== undefined;
  }

  push(event: HubEvent): readonly HubEvent[] {
    if (this.#met !== undefined) return this.#afterCut(event);
    if (event.kind === 'text') return this.#text(event);
    const flushed = this.#endsTail(event) ? this.#flush() : [];
    if (event.kind === 'item') this.#open.set(event.index, { item: event.item, parts: [], args: '' });
    if (event.kind === 'args') this.#note(event.index, (open) => (open.args += event.text));
    if (event.kind === 'item_end') this.#open.delete(event.index);
    return [...flushed, event];
  }

  /** Text that may be the beginning of a sequence is held back while its part can still go on. */
  #endsTail(event: HubEvent): boolean {
    return (
      event.kind === 'finish' ||
      event.kind === 'error' ||
      ('index' in event && event.kind !== 'item' && event.index === this.#tailOf?.index)
    );
  }

  #text({ index, part, text }: Extract<HubEvent, { kind: 'text' }>): readonly HubEvent[] {
    const isSamePart = this.#tailOf?.index === index && this.#tailOf.part === part;
    const flushed = isSamePart ? [] : this.#flush();
    const joined = this.#tail + text;
    this.#tailOf = { index, part };
    const match = firstMatch(joined, this.#sequences);
    if (match) return [...flushed, ...this.#cut(index, part, joined.slice(0, match.at), match.sequence)];
    const safe = Math.max(0, joined.length - this.#reach);
    this.#tail = joined.slice(safe);
    return safe === 0 ? flushed : [...flushed, this.#tell(index, part, joined.slice(0, safe))];
  }

  #cut(index: number, part: number, before: string, sequence: string): HubEvent[] {
    this.#met = sequence;
    this.#tail = '';
    const told = before === '' ? [] : [this.#tell(index, part, before)];
    return [
      ...told,
      ...[...this.#open]
        .sort(([a], [b]) => a - b)
        .map(([n, open]): HubEvent => ({ kind: 'item_end', index: n, item: closed(open) })),
    ];
  }

  #afterCut(event: HubEvent): readonly HubEvent[] {
    if (event.kind === 'finish' && this.#met !== undefined)
      return [{ kind: 'finish', stop: 'stop_sequence', stopSequence: this.#met, usage: event.usage }];
    return event.kind === 'error' ? [event] : [];
  }

  #flush(): readonly HubEvent[] {
    if (this.#tail === '' || !this.#tailOf) return [];
    const { index, part } = this.#tailOf;
    const tail = this.#tail;
    this.#tail = '';
    return [this.#tell(index, part, tail)];
  }

  #tell(index: number, part: number, text: string): HubEvent {
    this.#note(index, (open) => (open.parts[part] = (open.parts[part] ?? '') + text));
    return { kind: 'text', index, part, text };
  }

  #note(index: number, change: (open: { parts: string[]; args: string }) => void): void {
    const open = this.#open.get(index);
    if (open) change(open);
  }
}

/** An item that was open when the text was cut, with what had been told of it. */
function closed({ item, parts, args }: { item: HubItem; parts: readonly string[]; args: string }): HubItem {
  if (item.kind === 'message') return { ...item, parts: parts.map((text) => ({ kind: 'text', text })) };
  return item.kind === 'tool_call' ? { ...item, args: args || '{}' } : item;
}

/** The same for an answer that came whole. */
export function cutReply(reply: HubReply, sequences: readonly string[]): HubReply {
  const items: HubItem[] = [];
  for (const item of reply.items) {
    if (item.kind !== 'message') {
      items.push(item);
      continue;
    }
    const { parts, met } = cutParts(item.parts, sequences);
    // A text that ends at its sequence is whole, whatever stopped what came behind.
    const { incomplete: _, ...whole } = item;
    if (met === undefined) items.push(item);
    else if (parts.length > 0) items.push({ ...whole, parts });
    if (met !== undefined) return { ...reply, items, stop: 'stop_sequence', stopSequence: met };
  }
  return reply;
}

function cutParts(parts: readonly HubPart[], sequences: readonly string[]): { parts: HubPart[]; met?: string } {
  const kept: HubPart[] = [];
  for (const part of parts) {
    const match = part.kind === 'text' ? firstMatch(part.text, sequences) : undefined;
    if (!match || part.kind !== 'text') {
      kept.push(part);
      continue;
    }
    if (match.at > 0) kept.push(cutText(part, match.at));
    return { parts: kept, met: match.sequence };
  }
  return { parts: kept };
}

/** What was cited behind the cut is not cited any more. */
function cutText({ annotations, ...part }: HubText, at: number): HubText {
  const kept = annotations?.filter(({ end = 0 }) => end <= at) ?? [];
  return { ...part, text: part.text.slice(0, at), ...(kept.length > 0 && { annotations: kept }) };
}
