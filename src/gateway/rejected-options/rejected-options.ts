/**
 * Options that providers have rejected, by account and model, left out because each would cost an attempt.
 * Forgotten with the configuration.
 */
import type { Account } from '../../catalog/index.ts';
import { entryOf, RecentMap } from '../../core/index.ts';
import type { AddedOption, UpstreamDialect } from '../../rules/index.ts';
import { type Lessons, mergeLessons, NO_LESSONS } from './lessons.ts';

/** Models of an account that are remembered. Callers may send any name where a pattern admits it. */
const MAX_MODELS = 500;

/** Betas that are remembered, of all models of an account. */
const MAX_BETAS = 5_000;

export interface OptionCount {
  readonly dialect: UpstreamDialect;
  readonly option: string;
  readonly count: number;
}

export class RejectedOptions {
  /** Of each account its models, the most recently learned last. */
  readonly #lessons = new WeakMap<Account, RecentMap<string, Lessons>>();
  readonly #betas = new WeakMap<Account, Set<string>>();
  readonly #counts = new Map<string, OptionCount>();

  lessonsFor(account: Account, model: string): Lessons {
    return this.#lessons.get(account)?.get(model) ?? NO_LESSONS;
  }

  add(account: Account, model: string, lessons: Lessons): void {
    const models = entryOf(this.#lessons, account, () => new RecentMap<string, Lessons>({ entries: MAX_MODELS }));
    models.set(model, mergeLessons(models.get(model) ?? NO_LESSONS, lessons));
  }

  /** Remembers betas that a model accepted, which a later refusal does not mean. */
  acceptBetas(account: Account, model: string, betas: readonly string[]): void {
    const accepted = entryOf(this.#betas, account, () => new Set<string>());
    for (const beta of betas) if (accepted.size < MAX_BETAS) accepted.add(`${model} ${beta}`);
  }

  newBetas(account: Account, model: string, betas: readonly string[]): readonly string[] {
    return betas.filter((beta) => !this.#betas.get(account)?.has(`${model} ${beta}`));
  }

  count({ dialect, option }: Pick<AddedOption, 'dialect' | 'option'>): void {
    const id = `${dialect} ${option}`;
    this.#counts.set(id, { dialect, option, count: (this.#counts.get(id)?.count ?? 0) + 1 });
  }

  /** Since the start of the process. */
  counts(): readonly OptionCount[] {
    return [...this.#counts.values()];
  }
}
