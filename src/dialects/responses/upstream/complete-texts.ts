/**
 * Complete texts matched with the deltas before them: by what was received,
 * never by number, because servers number the parts of one item differently
 * from event to event. A text is emitted once and none is left out.
 */
import type { HubAnnotation } from '../../hub/types.ts';
import {
  addAnnotation,
  addText,
  newPart,
  type OpenItem,
  type Part,
  type StreamState,
  type TextKind,
} from './open-items.ts';

export interface CompleteText {
  readonly kind: TextKind;
  readonly text: string;
  readonly annotations: readonly HubAnnotation[];
}

/** Unfinished parts that one complete text may span. */
const MAX_SPANNED = 64;

/** The whole text of one part. An item may end without naming its parts again, so this text counts alone. */
export function endText(
  state: StreamState,
  open: OpenItem,
  { kind, key, text }: { readonly kind: TextKind; readonly key: string; readonly text: string },
): void {
  const known = open.partByKey.get(key);
  if (known?.text === text) {
    known.isDone = true;
    return;
  }
  const unfinished = unfinishedParts(open, kind);
  const received = textOf(unfinished);
  if (text.startsWith(received)) {
    const part = unfinished.at(-1) ?? newPart(open, kind, key);
    addUndelivered(state, part, text.slice(received.length));
    for (const one of [...unfinished, part]) one.isDone = true;
    // The server may repeat this event.
    if (part.index >= 0) open.partByKey.set(key, part);
    return;
  }
  if (!known || known.isDone || !text.startsWith(known.text)) return;
  addUndelivered(state, known, text.slice(known.text.length));
  known.isDone = true;
}

function addUndelivered(state: StreamState, part: Part, text: string): void {
  addText(state, part, text);
  part.undelivered = text;
}

/** The parts at the end whose complete text has not arrived. */
function unfinishedParts({ parts }: OpenItem, kind: TextKind): Part[] {
  const found: Part[] = [];
  for (let at = parts.length - 1; at >= 0 && found.length < MAX_SPANNED; at -= 1) {
    const part = parts[at];
    if (part?.kind !== kind || part.isDone) break;
    found.unshift(part);
  }
  return found;
}

const textOf = (parts: readonly { readonly text: string }[]): string => parts.map(({ text }) => text).join('');

/** The parts of the finished item: emits what was not received. */
export function completeTexts(state: StreamState, open: OpenItem, texts: readonly CompleteText[]): void {
  for (const kind of new Set(texts.map((one) => one.kind))) {
    const complete = texts.filter((one) => one.kind === kind);
    const received = open.parts.filter((part) => part.kind === kind);
    const places = isBeginning(received, complete)
      ? continueTexts(state, open, received, complete)
      : pairTexts(state, open, received, complete);
    addAnnotations(state, complete, places);
  }
}

const isBeginning = (received: readonly Part[], complete: readonly CompleteText[]): boolean =>
  textOf(complete).startsWith(textOf(received));

/** Where a complete text is: its part, and its place in the text of the part. */
interface Place {
  readonly part: Part;
  readonly offset: number;
}

/** What was received is the beginning of the whole, whatever its parts were. */
function continueTexts(
  state: StreamState,
  open: OpenItem,
  received: readonly Part[],
  complete: readonly CompleteText[],
): Place[] {
  const ends = received.values();
  let end = ends.next().value;
  let endOffset = end?.text.length ?? 0;
  let start = 0;
  const length = textOf(received).length;
  return complete.map(({ kind, text }, index) => {
    const [from, to] = [start, start + text.length];
    start = to;
    while (end && endOffset < Math.min(to, length)) {
      const next = ends.next().value;
      if (!next) break;
      end = next;
      endOffset += next.text.length;
    }
    if (end && from < length) {
      const place = { part: end, offset: from - (endOffset - end.text.length) };
      if (to > length) addText(state, end, text.slice(length - from));
      return place;
    }
    const part = newPart(open, kind, `${kind} of the item ${index}`);
    addText(state, part, text);
    return { part, offset: 0 };
  });
}

/**
 * The order or the characters differ. Each complete text belongs to the part
 * that equals it, else to the next part that no text equals, whose received
 * text stands. Further texts were not received.
 */
function pairTexts(
  state: StreamState,
  open: OpenItem,
  received: readonly Part[],
  complete: readonly CompleteText[],
): Place[] {
  const equal = Map.groupBy(received, ({ text }) => text);
  const unused = new Map([...equal].map(([text, parts]) => [text, parts.values()]));
  const exact = complete.map(({ text }) => unused.get(text)?.next().value);
  const taken = new Set(exact);
  const others = received.filter((part) => !taken.has(part)).values();
  // Parts that took turns: the order of their texts is lost.
  if (open.isMixed && taken.size < received.length) state.isInconsistent = true;
  return complete.map(({ kind, text }, index) => {
    const part = exact[index] ?? others.next().value ?? newPart(open, kind, `${kind} of the item ${index}`);
    if (text.startsWith(part.text)) addText(state, part, text.slice(part.text.length));
    return { part, offset: 0 };
  });
}

/** Emits the annotations that no event had. */
function addAnnotations(state: StreamState, complete: readonly CompleteText[], places: readonly Place[]): void {
  const known = new Map<Part, number>();
  for (const { part } of places) known.set(part, part.annotations.length);
  for (const [index, { annotations }] of complete.entries()) {
    const place = places[index];
    if (!place) continue;
    const before = known.get(place.part) ?? 0;
    known.set(place.part, Math.max(0, before - annotations.length));
    for (const annotation of annotations.slice(before))
      addAnnotation(state, place.part, moved(annotation, place.offset));
  }
}

function moved(annotation: HubAnnotation, offset: number): HubAnnotation {
  const { start, end, ...source } = annotation;
  if (offset === 0 || start === undefined || end === undefined) return annotation;
  return start + offset < 0 ? source : { ...source, start: start + offset, end: end + offset };
}
