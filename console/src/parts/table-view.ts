/**
 * How a reader looks at a table: columns and order are in the address, so that a link or a saved view has them; widths
 * are of this browser.
 */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { isValidElement, useState } from 'react';
import type { Search } from '../search.ts';
import type { Column } from './column.ts';
import { readStored, writeStored } from './stored.ts';

export type Widths = Readonly<Record<string, number>>;

export interface Order {
  readonly by: string;
  readonly isAscending: boolean;
}

export const idOf = <T>({ head, sort }: Column<T>): string => sort ?? head.toLowerCase().replaceAll(' ', '-');

const ASCENDING = '.asc';

export function orderIn({ sort }: Search): Order | undefined {
  if (sort === undefined) return undefined;
  return sort.endsWith(ASCENDING)
    ? { by: sort.slice(0, -ASCENDING.length), isAscending: true }
    : { by: sort, isAscending: false };
}

/** Without a choice, all columns but the extra ones. */
export function shownColumns<T>({ cols }: Search, columns: readonly Column<T>[]): readonly Column<T>[] {
  const chosen = cols?.split('.');
  const shown = columns.filter((column) => (chosen ? chosen.includes(idOf(column)) : !column.isExtra));
  return shown.length > 0 ? shown : columns;
}

export function useTableView<T>(columns: readonly Column<T>[]) {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = (part: Search): void =>
    void navigate({ to: '.', search: () => ({ ...search, page: undefined, ...part }), replace: true });
  const shown = shownColumns(search, columns);
  const order = orderIn(search);
  return {
    search,
    shown,
    order,
    toggle: (column: Column<T>): void => {
      const next = columns.filter((one) => (one === column ? !shown.includes(one) : shown.includes(one)));
      const isDefault = columns.every((one) => next.includes(one) !== (one.isExtra === true));
      change({ cols: isDefault || next.length === 0 ? undefined : next.map(idOf).join('.') });
    },
    /** Numbers begin with the largest, names with the first; then the other way, then as it comes. */
    sortBy: (column: Column<T>): void => {
      const by = idOf(column);
      const orders = [by, ...(column.isLargestFirst ? [] : [`${by}${ASCENDING}`])];
      if (column.kind !== 'number') orders.reverse();
      change({ sort: order?.by === by ? orders[orders.indexOf(search.sort ?? '') + 1] : orders[0] });
    },
    reset: (): void => change({ cols: undefined, sort: undefined }),
  };
}

/** Empty until the reader changes one: then every column keeps the width that it has. */
export function useWidths(name: string | undefined): readonly [Widths, (widths: Widths, isDone: boolean) => void] {
  const [widths, setWidths] = useState<Widths>(() =>
    name === undefined ? {} : readStored<Widths>(`widths:${name}`, {}),
  );
  return [
    widths,
    (next, isDone) => {
      setWidths(next);
      if (isDone && name !== undefined) writeStored(`widths:${name}`, next);
    },
  ];
}

/** What orders rows: numbers by size, texts by alphabet, nothing last. */
export function sortedRows<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  order: Order | undefined,
): readonly T[] {
  const column = order && columns.find((one) => idOf(one) === order.by);
  if (!order || !column || !canSort(column, rows)) return rows;
  const direction = order.isAscending ? 1 : -1;
  return rows.toSorted((a, b) => {
    const [one, other] = [orderValue(column, a), orderValue(column, b)];
    if (one === other) return 0;
    if (one === undefined || other === undefined) return one === undefined ? 1 : -1;
    return direction * compare(one, other);
  });
}

const compare = (a: string | number, b: string | number): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true });

/** Of a column without a value of its own: its text, or the time, amount or text of the element that it shows. */
function orderValue<T>(column: Column<T>, row: T): string | number | undefined {
  const amount = column.amount?.(row);
  if (column.amount) return amount ? Number(amount) : undefined;
  const shown = column.value ? column.value(row) : column.cell(row);
  if (!isValidElement<ShownProps>(shown)) return plainOf(shown);
  const { at, amount: own, children } = shown.props;
  return typeof own === 'string' ? Number(own) : plainOf(at ?? children);
}

interface ShownProps {
  readonly at?: unknown;
  readonly amount?: unknown;
  readonly children?: unknown;
}

const plainOf = (value: unknown): string | number | undefined =>
  (typeof value === 'string' && value !== '–') || typeof value === 'number' ? value : undefined;

/** Rows that are all loaded can be ordered here. */
export const canSort = <T>(column: Column<T>, rows: readonly T[]): boolean =>
  rows.some((row) => orderValue(column, row) !== undefined);
