/** A table of rows that open pages. On a phone each row is a card; a column says where it goes. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ReactNode;
  /** `grow` takes the free width and is cut; `prose` may have several lines. */
  readonly kind?: 'text' | 'number' | 'grow' | 'prose';
  /** `title` is the first line of the card, `side` its right end, `line` (default) the second line; `label` shows the head too. */
  readonly phone?: 'title' | 'side' | 'line' | 'label' | 'hide';
}

interface TableProps<T> {
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
}

export function Table<T>({ caption, columns, rows, rowKey, open, empty, above, total }: TableProps<T>) {
  return (
    <div className="table-box cards">
      {above}
      {rows.length === 0 ? (
        <div className="empty">{empty}</div>
      ) : (
        <table>
          <caption>{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ head, kind }) => (
                <th key={head} scope="col" className={kind === 'number' ? 'num' : undefined}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={rowKey(row)} data-id={rowKey(row)} className={open ? 'opens' : undefined}>
                {columns.map((column, n) => (
                  <td key={column.head} className={classOf(column)} data-head={headOf(column)}>
                    {open && n === 0 ? (
                      <Link to={open(row)} className="row-link">
                        {column.cell(row)}
                      </Link>
                    ) : (
                      column.cell(row)
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
          {total !== undefined && (
            <tfoot>
              <tr>
                {columns.map((column) => (
                  <td key={column.head} className={classOf(column)} data-head={headOf(column)}>
                    {column.cell(total)}
                  </td>
                ))}
              </tr>
            </tfoot>
          )}
        </table>
      )}
    </div>
  );
}

const KIND_CLASS = { text: '', number: 'num', grow: 'grow', prose: 'prose' } as const;

const classOf = <T,>({ kind = 'text', phone = 'line' }: Column<T>): string =>
  `${KIND_CLASS[kind]} phone-${phone}`.trim();

/** On a phone, a cell with a label shows its head in front. */
const headOf = <T,>({ head, phone }: Column<T>): string | undefined => (phone === 'label' ? head : undefined);
