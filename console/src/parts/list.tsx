/** A filtered list in pages. Filters and the page are in the address; new rows wait until the reader asks for them. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { Page } from '../../../src/objects/index.ts';
import type { Query } from '../api/client.ts';
import { cursorOf, filtersIn, newerPage, olderPage, type Search, withFilter } from '../search.ts';
import { type PageTexts, texts } from '../texts.ts';
import { Load } from './page.tsx';
import { type Column, Table } from './table.tsx';

export interface Filter {
  readonly name: string;
  readonly label: string;
  /** Values to choose from; any text without them. */
  readonly options?: readonly (string | readonly [value: string, label: string])[] | undefined;
  readonly type?: 'text' | 'date';
}

interface ListPageProps<T> {
  readonly page: PageTexts;
  readonly name: string;
  readonly load: (query: Query, signal: AbortSignal) => Promise<Page<T>>;
  readonly fixed?: Query;
  readonly filters?: readonly Filter[];
  readonly columns: readonly Column<T>[];
  readonly rowKey: (row: T) => string;
  readonly open?: (row: T) => string;
  readonly empty?: ReactNode;
  /** Looks for new rows at the top every few seconds. */
  readonly isLive?: boolean;
}

const PAGE_ROWS = 50;
export const POLL_MS = 5_000;

export function FilteredList<T>(props: ListPageProps<T>) {
  const { page, name, load, fixed = {}, filters = [], columns, rowKey, open, empty, isLive = false } = props;
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const names = filters.map((filter) => filter.name);
  const chosen = filtersIn(search, names);
  const cursor = cursorOf(search);
  const query = useQuery({
    queryKey: [name, fixed, chosen, cursor],
    queryFn: ({ signal }) => load({ ...fixed, ...chosen, cursor, limit: PAGE_ROWS }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: isLive && cursor === undefined ? POLL_MS : false,
  });
  const steady = useSteadyRows(query.data?.data, rowKey, `${JSON.stringify([fixed, chosen])}${cursor}`);
  // Rows of other lists change only by what the reader does.
  const { rows, fresh, showFresh } = isLive ? steady : { rows: query.data?.data, fresh: 0, showFresh: () => {} };
  const go = (next: Search, replace = false): void => void navigate({ to: '.', search: () => next, replace });
  return (
    <>
      {filters.length > 0 && (
        <FilterBar
          filters={filters}
          search={search}
          change={(filter, value) => go(withFilter(search, filter, value), true)}
        />
      )}
      <Load query={query} things={page.things}>
        {(list) => (
          <>
            <Table
              caption={page.title}
              columns={columns}
              rows={rows ?? list.data}
              rowKey={rowKey}
              {...(open && { open })}
              empty={
                <EmptyText chosen={chosen} empty={empty ?? page.empty} clear={() => go(fixedSearch(search, names))} />
              }
              above={
                fresh > 0 && (
                  <button type="button" className="new-rows" onClick={showFresh}>
                    {texts.newRows(fresh)}
                  </button>
                )
              }
            />
            {(cursor !== undefined || list.has_more) && (
              <nav className="pager" aria-label="Pages of the list">
                <span className="muted" />
                <button type="button" disabled={cursor === undefined} onClick={() => go(newerPage(search))}>
                  {texts.newer}
                </button>
                <button
                  type="button"
                  disabled={!list.has_more || list.next_cursor === null}
                  onClick={() => go(olderPage(search, list.next_cursor ?? ''))}
                >
                  {texts.older}
                </button>
              </nav>
            )}
          </>
        )}
      </Load>
    </>
  );
}

const fixedSearch = (search: Search, names: readonly string[]): Search =>
  Object.fromEntries(Object.entries(search).filter(([name]) => !names.includes(name) && name !== 'page'));

interface EmptyProps {
  readonly chosen: Readonly<Record<string, string | undefined>>;
  readonly empty: ReactNode;
  readonly clear: () => void;
}

const EmptyText = ({ chosen, empty, clear }: EmptyProps) =>
  Object.keys(chosen).length === 0 ? (
    <p>{empty}</p>
  ) : (
    <>
      <p>{texts.noFilterHits}</p>
      <button type="button" onClick={clear}>
        {texts.clearFilters}
      </button>
    </>
  );

/** Rows do not move under the reader: changed rows are updated in place, and new ones are counted until they are asked for. */
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

interface FilterBarProps {
  readonly filters: readonly Filter[];
  readonly search: Search;
  readonly change: (name: string, value: string) => void;
}

export const FilterBar = ({ filters, search, change }: FilterBarProps) => (
  <search>
    <details className="filter-box" open={isOpenAtFirst(filters, search)}>
      <summary>{texts.filters}</summary>
      <div className="filters">
        {filters.map((filter) => (
          // biome-ignore lint/a11y/noLabelWithoutControl: the control is inside, in a component
          <label key={filter.name}>
            {filter.label}
            {filter.options ? (
              <select value={search[filter.name] ?? ''} onChange={(event) => change(filter.name, event.target.value)}>
                <option value="">All</option>
                {filter.options.map((option) => {
                  const [value, label] = typeof option === 'string' ? [option, option] : option;
                  return (
                    <option key={value} value={value}>
                      {label}
                    </option>
                  );
                })}
              </select>
            ) : (
              <FilterText filter={filter} value={search[filter.name] ?? ''} change={change} />
            )}
          </label>
        ))}
      </div>
    </details>
  </search>
);

/** A phone has room for two filters above the list; more are folded unless one is set. */
const isOpenAtFirst = (filters: readonly Filter[], search: Search): boolean =>
  filters.length <= 2 ||
  !matchMedia('(max-width: 700px)').matches ||
  Object.keys(
    filtersIn(
      search,
      filters.map(({ name }) => name),
    ),
  ).length > 0;

const TYPING_MS = 350;

interface FilterTextProps {
  readonly filter: Filter;
  readonly value: string;
  readonly change: (name: string, value: string) => void;
}

/** Applies the text when typing pauses, on Enter, and on leaving the field. */
const FilterText = ({ filter, value, change }: FilterTextProps) => {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => change(filter.name, text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value, filter.name, change]);
  return (
    <input
      type={filter.type ?? 'text'}
      value={text}
      onChange={(event) => setText(event.target.value)}
      autoComplete="off"
      spellCheck={false}
    />
  );
};
