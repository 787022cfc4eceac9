/**
 * Following of confirmed tasks at their provider. A check takes a task by scheduling its next one, and asks the
 * provider. Only news is written. Each account has its own rate and its own slots, so a slow account delays no other.
 */
import type { Account } from '../../catalog/index.ts';
import { entryOf, errorFields } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import { ACCOUNT_RATES, SWEEP } from '../../rules/index.ts';
import type { VideoServices } from '../services.ts';
import type { QueryOutcome, ReportedTask } from '../upstream/client.ts';
import { AccountRates } from '../upstream/rates.ts';
import { type ApplyServices, applyReport, isNews } from './apply.ts';
import { cancelUpstream } from './delete.ts';
import { type AccountSlots, type DueTask, hasDue, TAKE_LIMIT, takeDue } from './due.ts';
import { canSweep, sweepTasks } from './sweep.ts';

type FollowServices = ApplyServices & Pick<VideoServices, 'provider' | 'pollsPerSecond'>;

interface TaskCheck {
  readonly account: Account;
  readonly task: DueTask;
}

/** Looks at tasks of one account that this process has taken. */
interface Lane {
  readonly waiting: TaskCheck[];
  busy: number;
}

export class Follower {
  readonly #services: FollowServices;
  readonly #rates: AccountRates;
  readonly #lanes = new Map<string, Lane>();
  /** Tasks that this process has taken; a slow check may outlive the interval of its task. */
  readonly #taken = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /** Accounts whose tasks are read by the list now. */
  readonly #sweeping = new Set<string>();
  readonly #lists: AccountRates;
  #isStopped = false;

  constructor(services: FollowServices) {
    this.#services = services;
    this.#rates = new AccountRates(services.clock, (id) => this.#pollsOf(services.catalog().account(id)));
    this.#lists = new AccountRates(services.clock, () => ACCOUNT_RATES.listsPerSecond);
  }

  /** Starts a check of every task that is due, within the limits of its account. Returns how many it took. */
  async run(): Promise<number> {
    let total = 0;
    for (;;) {
      const accounts = this.#accounts();
      const slots = this.#slotsOf(accounts);
      if (slots.length === 0 || this.#isStopped) break;
      const tasks = await takeDue(this.#services.db, slots);
      crashPoint('follow.taken');
      for (const task of tasks) this.#add(accounts.get(task.account_id ?? ''), task);
      total += tasks.length;
      if (tasks.length < TAKE_LIMIT) break;
    }
    for (const account of this.#accounts().values()) if (this.#isBusy(account)) total += await this.#sweep(account);
    return total;
  }

  /** Its reads of this second are used up. */
  #isBusy(account: Account): boolean {
    const { id } = account;
    if (this.#isStopped || this.#sweeping.has(id) || !canSweep(account)) return false;
    return this.#rates.available(id) === 0 && this.#lists.available(id) > 0;
  }

  /** Takes all tasks that single reads cannot follow. Returns how many. */
  async #sweep(account: Account): Promise<number> {
    const { db, log } = this.#services;
    const { id } = account;
    if (!(await hasDue(db, id, SWEEP.behindSeconds * this.#pollsOf(account)))) return 0;
    const due = await takeDue(db, [{ accountId: id, slots: SWEEP.tasks }], SWEEP.aheadMs);
    const tasks = due.filter((task) => !this.#taken.has(keyOf(task)));
    for (const task of tasks) this.#taken.add(keyOf(task));
    this.#sweeping.add(id);
    this.#lists.take(id);
    const sweep = sweepTasks(this.#services, account, { tasks, isStopped: () => this.#isStopped })
      .then((isListed) => (isListed ? undefined : this.#lists.pause(id)))
      .catch((error: unknown) => log.error('task.sweep_failed', { account: id, ...errorFields(error) }))
      .finally(() => {
        this.#running.delete(sweep);
        this.#sweeping.delete(id);
        for (const task of tasks) this.#taken.delete(keyOf(task));
      });
    this.#running.add(sweep);
    return tasks.length;
  }

  #pollsOf(account: Account | undefined): number {
    return account?.pollsPerSecond ?? this.#services.pollsPerSecond;
  }

  /** Waits for the checks that are running. Tasks that wait for one are taken again by another worker. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const lane of this.#lanes.values()) lane.waiting.length = 0;
    await this.whenIdle();
  }

  /** Resolves when no task that this process has taken is left. */
  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #accounts(): ReadonlyMap<string, Account> {
    const catalog = this.#services.catalog();
    const groups = catalog.groups().filter(({ style }) => style === 'video');
    return new Map(groups.flatMap(({ id }) => catalog.accounts(id)).map((account) => [account.id, account]));
  }

  /** In a new order each time: one statement may not reach all accounts, and none must always be the last. */
  #slotsOf(accounts: ReadonlyMap<string, Account>): AccountSlots[] {
    return shuffled([...accounts.keys()])
      .map((accountId) => {
        const { busy, waiting } = this.#lanes.get(accountId) ?? { busy: 0, waiting: [] };
        // As many as the rate allows in a second, so that the slots stay in use between two runs of the job.
        const free = this.#pollsOf(accounts.get(accountId)) - busy - waiting.length;
        return { accountId, slots: Math.min(free, this.#rates.available(accountId)) };
      })
      .filter(({ slots }) => slots > 0);
  }

  #add(account: Account | undefined, task: DueTask): void {
    if (!account || this.#taken.has(keyOf(task))) return;
    this.#taken.add(keyOf(task));
    this.#rates.take(account.id);
    const lane = entryOf(this.#lanes, account.id, () => ({ waiting: [], busy: 0 }));
    lane.waiting.push({ account, task });
    this.#startNext(lane);
  }

  #startNext(lane: Lane): void {
    const [next] = lane.waiting;
    if (!next) return;
    const { account, task } = next;
    const { getsPerSecond, concurrentGets } = ACCOUNT_RATES;
    if (lane.busy >= Math.max(concurrentGets, (this.#pollsOf(account) * concurrentGets) / getsPerSecond)) return;
    lane.waiting.shift();
    lane.busy += 1;
    const check = this.#check(next)
      .catch((error: unknown) => {
        // The task is looked at again after its interval.
        this.#services.log.error('task.follow_failed', { task: task.id, ...errorFields(error) });
      })
      .finally(() => {
        this.#running.delete(check);
        this.#taken.delete(keyOf(task));
        lane.busy -= 1;
        this.#startNext(lane);
        if (lane.busy === 0) this.#lanes.delete(account.id);
      });
    this.#running.add(check);
  }

  async #check({ account, task }: TaskCheck): Promise<void> {
    if (task.cancel_requested_at !== null && task.status === 'queued') {
      // Rejected: the task runs already, and the check below finds out.
      await cancelUpstream(this.#services, task).catch(() => {});
    }
    const outcome = await this.#ask({ account, task });
    crashPoint('follow.asked');
    if (outcome.kind === 'failed' && outcome.status === 429) this.#rates.pause(account.id, outcome.retryAfter);
    if (isNews(this.#services, task, outcome)) await applyReport(this.#services, task, outcome);
  }

  /** A success whose usage is known waits for a price only; the provider has nothing to add. */
  #ask({ account, task }: TaskCheck): Promise<QueryOutcome<ReportedTask>> {
    if (task.review_until !== null && task.usage_tokens !== null)
      return Promise.resolve({ kind: 'failed', status: undefined });
    return this.#services.provider.get(account, task.upstream_id ?? '');
  }
}

const shuffled = <T>(list: readonly T[]): T[] =>
  list
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);

const keyOf = ({ user_id, id }: DueTask): string => `${user_id}/${id}`;
