/**
 * Renewal of result addresses: the task is asked for again at the provider, and its new addresses are stored.
 * One request per task at a time, and none for a few seconds after the last:
 * many readers of a dead address must not use up the request rate of the account.
 */
import { sql } from 'kysely';
import { fail } from '../../core/index.ts';
import { RENEWAL_INTERVAL_MS } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import { type TaskRow, updateTask } from '../tasks/task.ts';
import type { ResultUrls } from './result.ts';

type RenewalServices = Pick<VideoServices, 'db' | 'catalog' | 'provider' | 'clock' | 'log'>;

export class Renewals {
  readonly #services: RenewalServices;
  readonly #latest = new Map<string, Promise<ResultUrls | undefined>>();

  constructor(services: RenewalServices) {
    this.#services = services;
  }

  /** Undefined when the provider no longer has the result. Throws when it cannot be asked now. */
  renew(task: TaskRow): Promise<ResultUrls | undefined> {
    const latest = this.#latest.get(task.id);
    if (latest) return latest;
    const renewal = this.#ask(task);
    this.#latest.set(task.id, renewal);
    const forget = (): void => void this.#latest.delete(task.id);
    // A failure to ask is not an outcome: the next reader asks again.
    renewal.then(() => this.#services.clock.after(RENEWAL_INTERVAL_MS, forget), forget);
    return renewal;
  }

  async #ask(task: TaskRow): Promise<ResultUrls | undefined> {
    const { catalog, provider, log } = this.#services;
    const account = catalog().account(task.account_id, task.group_id);
    if (!account || task.upstream_id === null) return undefined;
    const outcome = await provider.get(account, task.upstream_id);
    if (outcome.kind === 'failed') {
      log.warn('result.renewal_failed', { task: task.id, account: account.id, status: outcome.status });
      throw fail('upstream_error', 'The provider cannot be asked for the result now; try again shortly.');
    }
    if (outcome.kind === 'missing' || outcome.value.status !== 'succeeded') return undefined;
    const urls = { video: outcome.value.videoUrl, last_frame: outcome.value.lastFrameUrl };
    if (urls.video === undefined) return undefined;
    if (urls.video !== task.result_url || urls.last_frame !== (task.last_frame_url ?? undefined))
      await this.#store(task, urls);
    return urls;
  }

  async #store(task: TaskRow, urls: ResultUrls): Promise<void> {
    await updateTask(this.#services.db, task)
      .set({
        result_url: urls.video ?? null,
        // A report without a last frame does not take one away that exists.
        ...(urls.last_frame !== undefined && { last_frame_url: urls.last_frame }),
        result_reported_at: sql<Date>`now()`,
      })
      .execute();
    this.#services.log.info('result.renewed', { task: task.id });
  }
}
