/**
 * Options that providers have rejected, by account and model. Each request would cost a rejected attempt first; known options are left
 * out. In the memory of this replica, because a miss costs one attempt. Forgotten when the configuration changes: accounts of another
 * catalog are other objects.
 */
import type { Account } from '../../catalog/index.ts';
import type { AddedOption, UpstreamDialect } from '../../rules/index.ts';
import { type Lessons, mergeLessons, NO_LESSONS } from './lessons.ts';

/** Models of an account that are remembered. Callers may send any name where a pattern admits it. */
const MAX_MODELS = 500;

export interface OptionCount {
  readonly dialect: UpstreamDialect;
  readonly option: string;
  readonly count: number;
}

export class RejectedOptions {
  /** Of each account its models, the most recently learned last. */
  readonly #lessons = new WeakMap<Account, Map<string, Lessons>>();
  readonly #counts = new Map<string, OptionCount>();

  lessonsFor(account: Account, model: string): Lessons {
    return this.#lessons.get(account)?.get(model) ?? NO_LESSONS;
  }

  add(account: Account, model: string, lessons: Lessons): void {
    const models = this.#lessons.get(account) ?? new Map<string, Lessons>();
    this.#lessons.set(account, models);
    const merged = mergeLessons(models.get(model) ?? NO_LESSONS, lessons);
    models.delete(model);
    models.set(model, merged);
    const [oldest] = models.keys();
    if (models.size > MAX_MODELS && oldest !== undefined) models.delete(oldest);
  }

  /** Counts a request that is sent again without the option. */
  count({ dialect, option }: Pick<AddedOption, 'dialect' | 'option'>): void {
    const id = `${dialect} ${option}`;
    this.#counts.set(id, { dialect, option, count: (this.#counts.get(id)?.count ?? 0) + 1 });
  }

  /** Since the start of the process. */
  counts(): readonly OptionCount[] {
    return [...this.#counts.values()];
  }
}
