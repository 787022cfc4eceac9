/** The filters of a list. They are in the address; a text that is not complete yet waits, and is never sent. */
import { useEffect, useId, useState } from 'react';
import { fieldTime, timeOfField } from '../format/time.ts';
import { t } from '../language.ts';
import { filtersIn, type Search } from '../search.ts';
import { texts } from '../texts.ts';
import { PERIODS, periodOf } from './period.ts';
import { type Finder, Picker } from './picker.tsx';
import { useTimeMode } from './time-mode.tsx';

export interface Filter {
  readonly name: string;
  readonly label: string;
  /** Values to choose from; any text without them. */
  readonly options?: readonly (string | readonly [value: string, label: string])[] | undefined;
  /** `part` finds names that contain the text; `period` sets `start`, `end` and `range`. */
  readonly type?: 'text' | 'date' | 'part' | 'period';
  /** Suggests objects while the reader types. */
  readonly finder?: Finder;
  /** The form of a complete value. */
  readonly accepts?: RegExp;
  readonly placeholder?: string;
  /** Shown when the reader asks for more filters, or when it is set. */
  readonly isMore?: boolean;
}

/** A period is several members of the address. */
export const namesOf = (filters: readonly Filter[]): string[] =>
  filters.flatMap(({ name, type }) => (type === 'period' ? ['range', 'start', 'end'] : [name]));

interface FilterBarProps {
  readonly filters: readonly Filter[];
  readonly search: Search;
  readonly change: (name: string, value: string) => void;
}

export const FilterBar = ({ filters, search, change }: FilterBarProps) => {
  const [hasMore, setMore] = useState(false);
  const isSet = ({ name, type }: Filter): boolean =>
    type === 'period' ? periodOf(search) !== '' : search[name] !== undefined;
  const shown = filters.filter((filter) => hasMore || !filter.isMore || isSet(filter));
  const rest = filters.length - shown.length;
  return (
    <search>
      <details className="filter-box" open={isOpenAtFirst(filters, search)}>
        <summary>{texts.filters}</summary>
        <div className="filters">
          {shown.map((filter) => (
            <FilterField key={filter.name} filter={filter} search={search} change={change} />
          ))}
          {(rest > 0 || hasMore) && (
            <button type="button" className="quiet" onClick={() => setMore(!hasMore)}>
              {hasMore ? texts.fewerFilters : texts.moreFilters(rest)}
            </button>
          )}
        </div>
      </details>
    </search>
  );
};

/** A phone has room for two filters above the list; more are folded unless one is set. */
const isOpenAtFirst = (filters: readonly Filter[], search: Search): boolean =>
  filters.length <= 2 ||
  !matchMedia('(max-width: 700px)').matches ||
  Object.keys(filtersIn(search, namesOf(filters))).length > 0;

interface FieldProps {
  readonly filter: Filter;
  readonly search: Search;
  readonly change: (name: string, value: string) => void;
}

const FilterField = ({ filter, search, change }: FieldProps) => {
  const id = useId();
  return (
    <div className="filter" data-name={filter.name}>
      <label htmlFor={id}>{t(filter.label)}</label>
      {filter.type === 'period' ? (
        <PeriodField id={id} search={search} change={change} />
      ) : filter.options ? (
        <select id={id} value={search[filter.name] ?? ''} onChange={(event) => change(filter.name, event.target.value)}>
          <option value="">{t('All')}</option>
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
        <TextField id={id} filter={filter} value={search[filter.name] ?? ''} change={change} />
      )}
    </div>
  );
};

const TYPING_MS = 350;

interface TextFieldProps {
  readonly id: string;
  readonly filter: Filter;
  readonly value: string;
  readonly change: (name: string, value: string) => void;
}

/** The API takes `*` for any text. */
const withStars = (text: string): string => (text === '' || text.includes('*') ? text : `*${text}*`);
const withoutStars = (value: string): string => /^\*([^*]*)\*$/.exec(value)?.[1] ?? value;

/** Applies the text when typing pauses. */
const TextField = ({ id, filter, value, change }: TextFieldProps) => {
  const { name, type = 'text', finder, accepts, placeholder } = filter;
  const shown = type === 'part' ? withoutStars(value) : value;
  const [text, setText] = useState(shown);
  useEffect(() => setText(shown), [shown]);
  const isComplete = text === '' || accepts === undefined || accepts.test(text.trim());
  useEffect(() => {
    if (text.trim() === shown || !isComplete) return;
    const next = type === 'part' ? withStars(text.trim()) : text.trim();
    const timer = setTimeout(() => change(name, next), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, shown, isComplete, type, name, change]);
  if (finder)
    return (
      <Picker
        id={id}
        finder={finder}
        value={text}
        placeholder={placeholder}
        onChange={(next, isChosen) => {
          setText(next);
          if (isChosen) change(name, next);
        }}
      />
    );
  return (
    <input
      id={id}
      type={type === 'date' ? 'date' : 'text'}
      value={text}
      placeholder={placeholder}
      data-waits={!isComplete}
      onChange={(event) => setText(event.target.value)}
      autoComplete="off"
      spellCheck={false}
    />
  );
};

const PeriodField = ({ id, search, change }: Pick<FieldProps, 'search' | 'change'> & { readonly id: string }) => {
  const mode = useTimeMode();
  const period = periodOf(search);
  const [isOwn, setOwn] = useState(period === 'own');
  const zone = mode === 'local' ? texts.period.local : 'UTC';
  return (
    <div className="period">
      <select
        id={id}
        value={isOwn ? 'own' : period}
        onChange={({ target: { value } }) => {
          setOwn(value === 'own');
          if (value !== 'own') change('range', value);
        }}
      >
        <option value="">{texts.period.any}</option>
        {PERIODS.map(([value, label]) => (
          <option key={value} value={value}>
            {t(label)}
          </option>
        ))}
        <option value="own">{texts.period.own}</option>
      </select>
      {isOwn &&
        (['start', 'end'] as const).map((edge) => (
          <input
            key={edge}
            type="datetime-local"
            step={1}
            aria-label={texts.period[edge](zone)}
            value={fieldTime(search[edge], mode)}
            onChange={({ target: { value } }) => change(edge, value === '' ? '' : timeOfField(value, mode))}
          />
        ))}
    </div>
  );
};
