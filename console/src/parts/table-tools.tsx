/** What a reader sets for a table: its columns, how times are shown, and views under a name. */
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { t } from '../language.ts';
import { parseSearch, stringifySearch } from '../search.ts';
import { texts } from '../texts.ts';
import { Menu } from './menu.tsx';
import { PageTools } from './page.tsx';
import { readStored, writeStored } from './stored.ts';
import type { Column } from './table.tsx';
import { useTableView } from './table-view.ts';
import { TimeSwitch } from './time-mode.tsx';

interface TableToolsProps<T> {
  readonly name: string;
  readonly columns: readonly Column<T>[];
  /** Views that every reader has. */
  readonly views?: readonly SavedView[] | undefined;
  readonly hasTimes?: boolean;
}

/** A name, and the part of the address after the question mark. */
export type SavedView = readonly [name: string, search: string];

export function TableTools<T>({ name, columns, views = [], hasTimes = false }: TableToolsProps<T>) {
  const { shown, toggle, reset } = useTableView(columns);
  return (
    <PageTools>
      {hasTimes && <TimeSwitch />}
      <Views name={name} given={views} />
      <Menu label={texts.table.columns}>
        {columns.map((column) => (
          <label key={column.head} className="check-line">
            <input type="checkbox" checked={shown.includes(column)} onChange={() => toggle(column)} />
            {t(column.head)}
          </label>
        ))}
        <button type="button" className="quiet" onClick={reset}>
          {texts.table.reset}
        </button>
      </Menu>
    </PageTools>
  );
}

const MAX_VIEWS = 30;

const Views = ({ name, given }: { readonly name: string; readonly given: readonly SavedView[] }) => {
  const { search } = useTableView([]);
  const navigate = useNavigate();
  const [own, setOwn] = useState(() => readStored<readonly SavedView[]>(`views:${name}`, []));
  const keep = (views: readonly SavedView[]): void => {
    setOwn(views);
    writeStored(`views:${name}`, views);
  };
  // A view begins at its first page.
  const current = stringifySearch({ ...search, page: undefined });
  const active = [...own, ...given].find(([, saved]) => saved === current);
  const save = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const label = String(new FormData(event.currentTarget).get('view') ?? '').trim();
    if (label === '') return;
    keep([...own.filter(([other]) => other !== label), [label, current] as const].slice(-MAX_VIEWS));
    event.currentTarget.reset();
  };
  const open = (saved: string): void => void navigate({ to: '.', search: () => parseSearch(saved) });
  return (
    <Menu label={active?.[0] ?? texts.table.views}>
      {[...given, ...own].map(([label, saved], n) => (
        <div key={`${label} ${saved}`} className="view-line">
          <button type="button" className="quiet" aria-pressed={saved === current} onClick={() => open(saved)}>
            {label}
          </button>
          {n >= given.length && (
            <button
              type="button"
              className="quiet"
              aria-label={texts.table.removeView(label)}
              onClick={() => keep(own.filter(([other]) => other !== label))}
            >
              ×
            </button>
          )}
        </div>
      ))}
      <form className="view-form" onSubmit={save}>
        <input name="view" aria-label={texts.table.viewName} placeholder={texts.table.viewName} maxLength={40} />
        <button type="submit">{texts.table.saveView}</button>
      </form>
      <p className="muted small">{texts.table.noViews}</p>
    </Menu>
  );
};
