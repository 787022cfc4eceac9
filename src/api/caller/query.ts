/**
 * What the operations of document 2 share: a strict reader of query parameters (V 4), which rejects unknown and
 * repeated ones, and lists (V 2).
 */
import { failAt } from '../../core/index.ts';
import type { Caller } from '../../gateway/index.ts';
import { type Call, sendJson } from '../../platform/web/index.ts';
import type { OfferedVideoOperation, QueryRule, QueryTable } from '../../rules/index.ts';
import type { Video } from '../../video/index.ts';

export interface VideoHandlerServices {
  readonly video: Video;
}
export type VideoHandler<S = VideoHandlerServices> = (services: S, call: Call, caller: Caller) => Promise<void>;
/** Of the operations whose names begin with `P`. */
export type VideoHandlers<P extends string> = Readonly<
  Record<Extract<OfferedVideoOperation, `${P}.${string}`>, VideoHandler>
>;

/** The values of a query by the table of its parameters; absent ones are undefined or have their default. */
export type QueryValues<T extends QueryTable> = { readonly [K in keyof T]: QueryValue<T[K]> };
type QueryValue<R extends QueryRule> = R extends { kind: 'integer' }
  ? number
  : R extends { kind: 'required' }
    ? string
    : R extends { kind: 'text' }
      ? string | undefined
      : R extends { kind: 'word' }
        ? R['vocabulary'][number]
        : R extends { kind: 'values' }
          ? readonly R['vocabulary'][number][] | undefined
          : readonly string[] | undefined;

export function readVideoQuery<T extends QueryTable>(query: string, table: T): QueryValues<T> {
  const given = new URLSearchParams(query);
  const values = Object.entries(table).map(([name, rule]) => [name, readValue(name, rule, given.getAll(name))]);
  for (const name of given.keys())
    if (!Object.hasOwn(table, name)) throw invalid(name.slice(0, 80), 'unknown parameter; remove it');
  return Object.fromEntries(values);
}

function readValue(name: string, rule: QueryRule, given: readonly string[]): unknown {
  const [text] = given;
  if (rule.kind === 'texts') {
    if (given.length > rule.maxItems)
      throw invalid(name, `given ${given.length} times; at most ${rule.maxItems} are allowed`);
    // PostgreSQL rejects a NUL character, and no stored text has one.
    return text === undefined ? undefined : given.filter((one) => !one.includes('\0'));
  }
  if (rule.kind !== 'values' && given.length > 1) throw invalid(name, 'given more than once');
  if (rule.kind === 'word' || rule.kind === 'values') {
    const words: readonly string[] = rule.vocabulary;
    if (!given.every((word) => words.includes(word))) throw invalid(name, `expected one of ${words.join(', ')}`);
    if (rule.kind === 'word') return text ?? rule.default;
    return text === undefined ? undefined : given;
  }
  if (rule.kind === 'integer') {
    const { min, max } = rule;
    if (text === undefined) return rule.default;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw invalid(name, `expected an integer from ${min} to ${max}`);
    return value;
  }
  if (text?.includes('\0')) throw invalid(name, 'must not contain NUL characters');
  if (rule.kind === 'required' && !text) throw invalid(name, 'is required');
  return text;
}

const invalid = (name: string, problem: string) => failAt('invalid_request', name, `${problem}.`);

/** The list envelope of document 2 (V 2). */
interface ListForm<T> {
  readonly limit: number;
  readonly view: (row: T) => object;
  readonly id: (row: T) => string;
}

/** `rows` has one more than the limit when there are further ones. */
export function sendList<T>(call: Call, rows: readonly T[], { limit, view, id }: ListForm<T>): void {
  const page = rows.slice(0, limit);
  const ids = page.map(id);
  sendJson(call, 200, {
    object: 'list',
    data: page.map(view),
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
    has_more: rows.length > limit,
  });
}
