/** Order and pages of the lists of the asset library: numbered pages, or a token that continues. */
import { invalid } from '../errors.ts';
import type { ActionParameters } from './action-parameters.ts';
import type { LibraryItem } from './collection.ts';

export const PAGE_PARAMETERS = ['PageNumber', 'PageSize', 'NextToken', 'MaxResults', 'SortBy', 'SortOrder'];

const LARGEST_PAGE = 100;
const DEFAULT_SIZE = 10;
const SORT_ORDERS = ['Desc', 'Asc'] as const;

type SortKey = string | number;
type SortKeys<T> = Readonly<Record<string, (item: T) => SortKey>>;
/** The value that the list is sorted by, and the order of creation, which breaks ties. */
type Position = readonly [SortKey, number];

export const BY_TIME: SortKeys<LibraryItem> = {
  CreateTime: ({ createdAt }) => createdAt,
  UpdateTime: ({ updatedAt }) => updatedAt,
};

export interface Page<T> {
  items: T[];
  /** The members of the response that describe the page. */
  about: object;
}

export function pageOf<T extends LibraryItem>(
  items: readonly T[],
  parameters: ActionParameters,
  keys: SortKeys<T>,
): Page<T> {
  const hasNumber = parameters.has('PageNumber') || parameters.has('PageSize');
  const hasToken = parameters.has('NextToken') || parameters.has('MaxResults');
  if (hasNumber && hasToken) throw invalid('NextToken', 'it cannot be mixed with PageNumber and PageSize');
  const sortBy = parameters.choice('SortBy', Object.keys(keys)) ?? 'CreateTime';
  const direction = parameters.choice('SortOrder', SORT_ORDERS) === 'Asc' ? 1 : -1;
  const positionOf = (item: T): Position => [keys[sortBy]?.(item) ?? 0, item.order];
  const sorted = items.toSorted((one, other) => direction * compare(positionOf(one), positionOf(other)));
  if (!hasToken) return numberedPage(sorted, parameters);
  const size = parameters.integer('MaxResults', LARGEST_PAGE) ?? DEFAULT_SIZE;
  const token = parameters.text('NextToken') ?? '';
  const last = token === '' ? undefined : parseToken(token);
  const rest = last ? sorted.filter((item) => direction * compare(positionOf(item), last) > 0) : sorted;
  const page = rest.slice(0, size);
  const end = page.at(-1);
  const next = rest.length > size && end ? writeToken(positionOf(end)) : '';
  return { items: page, about: { TotalCount: sorted.length, ...(next !== '' && { NextToken: next }) } };
}

function numberedPage<T>(sorted: readonly T[], parameters: ActionParameters): Page<T> {
  const number = parameters.integer('PageNumber', Number.MAX_SAFE_INTEGER) ?? 1;
  const size = parameters.integer('PageSize', LARGEST_PAGE) ?? DEFAULT_SIZE;
  const items = sorted.slice((number - 1) * size, number * size);
  return { items, about: { TotalCount: sorted.length, PageNumber: number, PageSize: size } };
}

function compare([one, oneOrder]: Position, [other, otherOrder]: Position): number {
  if (one === other) return oneOrder - otherOrder;
  return one < other ? -1 : 1;
}

const writeToken = (position: Position): string => Buffer.from(JSON.stringify(position)).toString('base64url');

function parseToken(token: string): Position {
  try {
    const [key, order]: unknown[] = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
    if ((typeof key === 'string' || typeof key === 'number') && typeof order === 'number') return [key, order];
  } catch {
    // A token that is not ours is an error of the request as well.
  }
  throw invalid('NextToken', 'it is not a token of this list');
}
