/**
 * Filters and pages in the address. All values are text; empty ones are absent, so that an address says only what
 * differs.
 */

export type Search = Readonly<Record<string, string | undefined>>;

export const parseSearch = (text: string): Record<string, string> =>
  Object.fromEntries([...new URLSearchParams(text)].filter(([, value]) => value !== ''));

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value));
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

/** The cursors of the pages from the second one up to the shown one. Cursors are Base64url, so a dot separates them. */
const PAGE = 'page';
const cursorsOf = (search: Search): string[] => (search[PAGE] ?? '').split('.').filter((cursor) => cursor !== '');

export const cursorOf = (search: Search): string | undefined => cursorsOf(search).at(-1);

export const olderPage = (search: Search, cursor: string): Search => ({
  ...search,
  [PAGE]: [...cursorsOf(search), cursor].join('.'),
});

export const newerPage = (search: Search): Search => ({
  ...search,
  [PAGE]: cursorsOf(search).slice(0, -1).join('.') || undefined,
});

/** A changed filter starts at the first page; every other filter stays. */
export const withFilter = (search: Search, name: string, value: string): Search => ({
  ...search,
  [name]: value || undefined,
  [PAGE]: undefined,
});

export const filtersIn = <N extends string>(search: Search, names: readonly N[]): Partial<Record<N, string>> =>
  Object.fromEntries(names.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]]))) as Partial<
    Record<N, string>
  >;
