/** A table of rows that open pages. On a phone each row is a card; a column says where it goes. */
import { Link } from '@tanstack/react-router';
import { type MouseEvent, type PointerEvent, type ReactNode, useRef } from 'react';
import { decimalsOf } from '../format/money.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import type { Column } from './column.ts';
import { canSort, idOf, sortedRows, useTableView, useWidths, type Widths } from './table-view.ts';

export type { Column } from './column.ts';

interface TableProps<T> {
  /** With a name, the reader chooses columns, widths and the order. At most one table of a page has one. */
  readonly name?: string;
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** The page of a row; the first column is the link. */
  readonly open?: (row: T) => string;
  readonly empty: ReactNode;
  readonly above?: ReactNode;
  /** The sum of all rows. */
  readonly total?: T | undefined;
  /** False for a page of a longer list, which only the API can order, by the columns that have a `sort`. */
  readonly isWhole?: boolean;
}

const MANY_COLUMNS = 7;

export function Table<T>(props: TableProps<T>) {
  const { name, caption, columns, rows, rowKey, open, empty, above, total, isWhole = true } = props;
  const view = useTableView(columns);
  const [widths, setWidths] = useWidths(name);
  const shown = name === undefined ? columns : view.shown;
  const here = name === undefined || !isWhole ? [] : columns.filter(({ sort }) => sort === undefined);
  const isFixed = Object.keys(widths).length > 0;
  const decimals = new Map(
    shown.map(({ head, amount }) => [head, amount ? Math.max(0, ...rows.map((row) => decimalsOf(amount(row)))) : 0]),
  );
  const padOf = ({ head, amount }: Column<T>, row: T): string | undefined => {
    const own = decimalsOf(amount?.(row));
    return own === 0 ? undefined : '0'.repeat(Math.max(0, (decimals.get(head) ?? 0) - own)) || undefined;
  };
  const cellOf = (column: Column<T>, row: T, n: number): ReactNode => (
    <td key={column.head} className={classOf(column, n)} data-head={headOf(column)} data-pad={padOf(column, row)}>
      {open && n === 0 && row !== total ? (
        <Link to={open(row)} className="row-link">
          {column.cell(row)}
        </Link>
      ) : (
        column.cell(row)
      )}
    </td>
  );
  const ownClass = shown.length > MANY_COLUMNS ? 'dense' : undefined;
  return (
    <div className="table-box cards">
      {above}
      {rows.length === 0 ? (
        <div className="empty">{empty}</div>
      ) : (
        <table className={isFixed ? 'fixed' : ownClass} style={isFixed ? { width: sumOf(shown, widths) } : undefined}>
          <caption>{t(caption)}</caption>
          {isFixed && (
            <colgroup>
              {shown.map((column) => (
                <col key={column.head} style={{ width: widths[idOf(column)] ?? NEW_WIDTH }} />
              ))}
            </colgroup>
          )}
          <thead>
            <tr>
              {shown.map((column, n) => (
                <Head
                  key={column.head}
                  column={column}
                  className={classOf(column, n)}
                  order={
                    view.order?.by === idOf(column) ? (view.order.isAscending ? 'ascending' : 'descending') : 'none'
                  }
                  sort={
                    name !== undefined &&
                    (column.sort !== undefined || (here.includes(column) && canSort(column, rows)))
                      ? () => view.sortBy(column)
                      : undefined
                  }
                  resize={
                    name === undefined
                      ? undefined
                      : (row, width, isDone) =>
                          setWidths({ ...(isFixed ? widths : measured(shown, row)), [idOf(column)]: width }, isDone)
                  }
                />
              ))}
            </tr>
          </thead>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the link in the row has the keys */}
          <tbody onClick={open && openRow} onPointerOver={nameCut}>
            {sortedRows(rows, here, view.order).map((row) => (
              <tr key={rowKey(row)} data-id={rowKey(row)} className={open ? 'opens' : undefined}>
                {shown.map((column, n) => cellOf(column, row, n))}
              </tr>
            ))}
          </tbody>
          {total !== undefined && (
            <tfoot>
              <tr>{shown.map((column, n) => cellOf(column, total, n))}</tr>
            </tfoot>
          )}
        </table>
      )}
    </div>
  );
}

interface HeadProps<T> {
  readonly column: Column<T>;
  readonly className: string;
  readonly order: 'ascending' | 'descending' | 'none';
  readonly sort: (() => void) | undefined;
  readonly resize: ((row: HTMLElement, width: number, isDone: boolean) => void) | undefined;
}

const MIN_WIDTH = 56;
const NEW_WIDTH = 120;

function Head<T>({ column: { head, kind }, className, order, sort, resize }: HeadProps<T>) {
  const from = useRef<{ readonly x: number; readonly width: number }>(undefined);
  const drag = (event: PointerEvent<HTMLElement>, isDone: boolean): void => {
    const cell = event.currentTarget.closest('th');
    const row = cell?.parentElement;
    if (!from.current || !row || !resize) return;
    resize(row, Math.max(MIN_WIDTH, Math.round(from.current.width + event.clientX - from.current.x)), isDone);
    if (isDone) from.current = undefined;
  };
  return (
    <th scope="col" className={className} aria-sort={sort && order !== 'none' ? order : undefined}>
      {sort ? (
        <button type="button" className="sort" onClick={sort} title={texts.table.sort(t(head))}>
          {t(head)}
          {order !== 'none' && <span aria-hidden="true">{order === 'ascending' ? ' ↑' : ' ↓'}</span>}
        </button>
      ) : (
        <span className={kind === 'actions' ? 'hidden-label' : undefined}>{t(head)}</span>
      )}
      {resize && (
        <span
          className="grip"
          aria-hidden="true"
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            from.current = { x: event.clientX, width: event.currentTarget.closest('th')?.offsetWidth ?? NEW_WIDTH };
          }}
          onPointerMove={(event) => drag(event, false)}
          onPointerUp={(event) => drag(event, true)}
        />
      )}
    </th>
  );
}

const measured = <T,>(columns: readonly Column<T>[], row: HTMLElement): Widths =>
  Object.fromEntries(
    columns.map((column, n) => [idOf(column), (row.children[n] as HTMLElement | undefined)?.offsetWidth ?? NEW_WIDTH]),
  );

const sumOf = <T,>(columns: readonly Column<T>[], widths: Widths): number =>
  columns.reduce((sum, column) => sum + (widths[idOf(column)] ?? NEW_WIDTH), 0);

/** A click anywhere in a row opens its link, with the keys that open another tab. Selecting text does not. */
function openRow(event: MouseEvent<HTMLElement>): void {
  const { target, ctrlKey, metaKey, shiftKey } = event;
  if (!(target instanceof HTMLElement) || target.closest('a, button, input, label, dialog')) return;
  if (getSelection()?.toString() !== '') return;
  const link = target.closest('tr')?.querySelector<HTMLElement>('.row-link');
  link?.dispatchEvent(new window.MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
}

/** Text that is cut shows in full. */
function nameCut({ target }: PointerEvent<HTMLElement>): void {
  const cell = target instanceof Element ? target.closest('td') : null;
  if (cell && cell.scrollWidth > cell.clientWidth) cell.title = cell.innerText;
}

const KIND_CLASS = { text: '', number: 'num', grow: 'grow', prose: 'prose', actions: 'actions' } as const;

const classOf = <T,>({ kind = 'text', phone = 'line', isPinned }: Column<T>, n: number): string =>
  `${KIND_CLASS[kind]} phone-${phone}${n === 0 ? ' first' : ''}${isPinned ? ' pinned' : ''}`.trim();

/** On a phone, a cell with a label shows its head in front. */
const headOf = <T,>({ head, phone }: Column<T>): string | undefined => (phone === 'label' ? t(head) : undefined);
