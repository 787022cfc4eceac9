/**
 * A filtered list in pages. Filters, order and page are in the address; new rows wait until the reader asks for them.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useState } from 'react';
import type { Page } from '../../../src/schemas/index.ts';
import type { Query } from '../api/client.ts';
import { countText } from '../format/count.ts';
import { absoluteTime } from '../format/time.ts';
import { t } from '../language.ts';
import { cursorOf, filtersIn, newerPage, olderPage, type Search, withFilter } from '../search.ts';
import { type PageTexts, texts } from '../texts.ts';
import { type Filter, FilterBar, namesOf } from './filters.tsx';
import { Load } from './page.tsx';
import { periodQuery, withPeriod } from './period.ts';
import { type Column, Table } from './table.tsx';
import { type SavedView, TableTools } from './table-tools.tsx';
import { orderIn } from './table-view.ts';

type Loaded<T> = Page<T> & { readonly searched_to?: string | null; readonly total?: T };

interface ListPageProps<T> {
  readonly page: PageTexts;
  readonly name: string;
  readonly load: (query: Query, signal: AbortSignal) => Promise<Loaded<T>>;
  readonly fixed?: Query;
  /** Of filters that the reader has not set. */
  readonly defaults?: Search;
  /** The order until the reader chooses one, for a list of sums. */
  readonly order?: string | undefined;
  /** The line below the rows, for a list with a total. */
  readonly totalOf?: (total: T) => T;
  readonly filters?: readonly Filter[];
  readonly columns: readonly Column<T>[];
  readonly rowKey: (row: T) => string;
  readonly open?: (row: T) => string;
  readonly empty?: ReactNode;
  /** Looks for new rows at the top every few seconds. */
  readonly isLive?: boolean;
  readonly views?: readonly SavedView[];
  /** Of a page that is about more than the list, whose head has no tools of it. */
  readonly isPart?: boolean;
}

const PAGE_ROWS = 50;
export const POLL_MS = 5_000;

const olderLabel = (searchedTo: unknown): string => (searchedTo ? texts.table.searchOn : texts.older);

export function FilteredList<T>(props: ListPageProps<T>) {
  const { page, name, load, fixed = {}, filters = [], columns, rowKey, open, empty, isLive = false, views } = props;
  const { isPart = false, defaults = {}, order, totalOf } = props;
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const names = namesOf(filters);
  const { range, start, end, ...chosen } = filtersIn({ ...defaults, ...search }, names);
  const cursor = cursorOf(search);
  const by = orderIn(search)?.by;
  const sorted = columns.find((column) => column.sort !== undefined && column.sort === by);
  const sortedBy = sorted?.isLargestFirst ? by : search.sort;
  const sort = sorted ? sortedBy : order;
  const isByTime = isLive && sort === undefined;
  const isAtTop = cursor === undefined && sort === undefined;
  const queryKey = [name, fixed, chosen, range, start, end, sort, cursor];
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      load({ ...fixed, ...chosen, ...periodQuery(search, Date.now()), sort, cursor, limit: PAGE_ROWS }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: isLive && isAtTop ? POLL_MS : false,
  });
  // Rows of the query before are shown until those of this one arrive, which are not new to the reader.
  const own = query.isPlaceholderData ? undefined : query.data?.data;
  const steady = useSteadyRows(own, rowKey, JSON.stringify(queryKey));
  // Rows of other lists change only by what the reader does.
  const { rows, fresh, showFresh } =
    isLive && isAtTop ? steady : { rows: query.data?.data, fresh: 0, showFresh: () => {} };
  const go = (next: Search, replace = false): void => void navigate({ to: '.', search: () => next, replace });
  const change = useCallback(
    (filter: string, value: string): void =>
      void navigate({
        to: '.',
        search: (before: Search) => withFilter(withPeriod(before, filter), filter, value),
        replace: true,
      } as never),
    [navigate],
  );
  return (
    <>
      {!isPart && (
        <TableTools
          name={name}
          columns={columns}
          views={views}
          hasTimes={columns.some(({ head }) => TIMES.has(head))}
        />
      )}
      {filters.length > 0 && <FilterBar filters={filters} search={{ ...defaults, ...search }} change={change} />}
      <Load query={query} things={page.things}>
        {(list) => (
          <>
            <Table
              name={name}
              caption={page.title}
              columns={columns}
              rows={rows ?? list.data}
              rowKey={rowKey}
              total={list.total && totalOf?.(list.total)}
              {...(open && { open })}
              isWhole={!isLive && !totalOf && cursor === undefined && !list.has_more}
              empty={
                <EmptyText
                  isFiltered={names.some((one) => search[one] !== undefined)}
                  searchedTo={list.searched_to}
                  empty={empty ?? page.empty}
                  clear={() => go(fixedSearch(search, names))}
                />
              }
              above={
                fresh > 0 && (
                  <button type="button" className="new-rows" onClick={showFresh}>
                    {texts.newRows(fresh)}
                  </button>
                )
              }
            />
            {(cursor !== undefined || list.has_more || sorted?.isLargestFirst) && (
              <nav className="pager" aria-label={t('Pages of the list')}>
                <span className="muted">
                  {list.count !== undefined && texts.table.count(list.count === null ? null : countText(list.count))}
                  {sorted?.isLargestFirst && texts.table.sorted(countText(SEARCHED_ROWS))}
                  {list.searched_to && list.data.length > 0 && texts.table.searchedTo(absoluteTime(list.searched_to))}
                </span>
                <button type="button" disabled={cursor === undefined} onClick={() => go(newerPage(search))}>
                  {isByTime ? texts.newer : t('Previous')}
                </button>
                <button
                  type="button"
                  disabled={!list.has_more || list.next_cursor === null}
                  onClick={() => go(olderPage(search, list.next_cursor ?? ''))}
                >
                  {isByTime ? olderLabel(list.searched_to) : t('Next')}
                </button>
              </nav>
            )}
          </>
        )}
      </Load>
    </>
  );
}

/** Of the API: what it looks at for an order or a part of a name. */
const SEARCHED_ROWS = 100_000;
/** Heads of columns with a time. */
const TIMES: ReadonlySet<string> = new Set(['Time', 'Made', 'Created', 'Finished', 'Expires']);

const fixedSearch = (search: Search, names: readonly string[]): Search =>
  Object.fromEntries(Object.entries(search).filter(([name]) => !names.includes(name) && name !== 'page'));

interface EmptyProps {
  readonly isFiltered: boolean;
  readonly searchedTo: string | null | undefined;
  readonly empty: ReactNode;
  readonly clear: () => void;
}

const EmptyText = ({ isFiltered, searchedTo, empty, clear }: EmptyProps) =>
  !isFiltered ? (
    <p>{empty}</p>
  ) : (
    <>
      <p>
        {texts.noFilterHits} {searchedTo && texts.table.searchedTo(absoluteTime(searchedTo))}
      </p>
      <button type="button" onClick={clear}>
        {texts.clearFilters}
      </button>
    </>
  );

/**
 * Rows do not move under the reader: changed rows are updated in place, and new ones are counted until they are asked
 * for.
 */
function useSteadyRows<T>(latest: readonly T[] | undefined, rowKey: (row: T) => string, list: string) {
  const [shown, setShown] = useState<{ readonly list: string; readonly keys: readonly string[] }>();
  const isSame = shown?.list === list;
  useEffect(() => {
    if (latest && !isSame) setShown({ list, keys: latest.map(rowKey) });
  }, [latest, isSame, list, rowKey]);
  if (!latest || !isSame) return { rows: latest, fresh: 0, showFresh: () => {} };
  const fresh = latest.filter((row) => !shown.keys.includes(rowKey(row)));
  // Rows that end on the page are shown at once when the list was empty.
  const rows = shown.keys.length === 0 ? latest : latest.filter((row) => shown.keys.includes(rowKey(row)));
  return {
    rows,
    fresh: shown.keys.length === 0 ? 0 : fresh.length,
    showFresh: () => setShown({ list, keys: latest.map(rowKey) }),
  };
}
