/**
 * Rows of a batch as lines of a copy, encoded before the transaction, so that it holds its locks no longer than needed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CopiedValue, copyLine, copyRows } from './copy-in.ts';
import type { Db, Rows } from './rows.ts';

/** What a row is made from. */
export interface RowSource {
  readonly at: number;
  readonly id: string;
}

export interface EncodedRows<T extends RowSource> {
  readonly columns: readonly string[];
  readonly lines: ReadonlyMap<T, string>;
}

/** Rows that are encoded in one turn of the event loop, a fraction of a millisecond. */
const SLICE_ROWS = 50;

/** Every row has the same columns in the same order. */
export async function encodeRows<T extends RowSource>(
  sources: readonly T[],
  rowOf: (source: T) => Readonly<Record<string, CopiedValue>>,
): Promise<EncodedRows<T>> {
  const lines = new Map<T, string>();
  let columns: readonly string[] = [];
  for (const source of sources) {
    if (lines.size > 0 && lines.size % SLICE_ROWS === 0) await nextTurn();
    const row = rowOf(source);
    if (lines.size === 0) columns = Object.keys(row);
    lines.set(source, copyLine(Object.values(row)));
  }
  return { columns, lines };
}

/**
 * Some of the encoded rows, in one order everywhere, so that replicas that write the same rows do not deadlock. Fails
 * when a row exists.
 */
export async function copyEncoded<T extends RowSource>(
  db: Db,
  table: keyof Rows,
  sources: readonly T[],
  { columns, lines }: EncodedRows<T>,
): Promise<void> {
  const sorted = sources.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  if (sorted.length > 0) await copyRows(db, table, { columns, lines: sorted.map((one) => lines.get(one) ?? '') });
}
