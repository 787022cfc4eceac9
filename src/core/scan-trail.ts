/**
 * Where a scan can go on that has read the same bytes before: agents send nearly the
 * whole conversation again. Between two elements it knows a few numbers only.
 */

/** A value that a tag reports. `path` names it in the body. */
export interface Tagged {
  readonly tag: string;
  readonly path: string;
  /** Byte offsets; `end` is exclusive. */
  readonly span: { readonly start: number; readonly end: number };
}

/** In front of an element, with what was known there. */
export interface ScanMark {
  readonly at: number;
  readonly list: MarkedList;
  /** Elements of the list in front of it, those of lists inside them, and values of the body. */
  readonly index: number;
  readonly innerElements: number;
  readonly values: number;
  readonly isWatched: boolean;
  readonly unknown: string | undefined;
  /** How many were reported. */
  readonly tagged: number;
}

/** A list of the top level. */
export interface MarkedList {
  readonly name: string;
  readonly start: number;
  /** It is this member of the body, from 1. */
  readonly member: number;
  /** The wanted members in front of it. */
  readonly found: readonly (readonly [name: string, span: Tagged['span']])[];
}

/** The last marks of a scan, and what it reported. */
export interface ScanTrail {
  readonly marks: readonly ScanMark[];
  readonly tagged: readonly Tagged[];
}

/** Marks that are kept: agents change their last turns too, because they move the marks of a prompt cache. */
const KEPT_MARKS = 12;

export function addMark(marks: ScanMark[], mark: ScanMark): void {
  marks.push(mark);
  if (marks.length > KEPT_MARKS) marks.shift();
}

/** The part of a trail in which both bodies have the same bytes: its last mark is where a scan of `body` can go on. */
export function commonTrail({ marks, tagged }: ScanTrail, before: Buffer, body: Buffer): ScanTrail | undefined {
  let [count, from] = [0, 0];
  for (const { at } of marks) {
    if (at > body.length || body.compare(before, from, at, from, at) !== 0) break;
    count += 1;
    from = at;
  }
  const last = marks[count - 1];
  return last && { marks: marks.slice(0, count), tagged: tagged.slice(0, last.tagged) };
}
