/** The tasks of all accounts and their life: waiting, running, ending, being forgotten. */
import type { Chance } from '../chance.ts';
import type { SimClock } from './clock.ts';
import { defaultMessage, VideoFailure, withRequestId } from './errors.ts';
import { decideOutcome } from './outcome.ts';
import type { TaskRequest } from './parameters.ts';
import type { VideoSettings } from './settings.ts';
import { isTerminal, type Task, type TaskStatus } from './task.ts';
import type { CallFault, TaskPlan } from './triggers.ts';

const DAY_MS = 24 * 3_600_000;
const TASK_LIFETIME_MS = 7 * DAY_MS;
const CANCELLED_LIFETIME_MS = DAY_MS;

export interface NewTask {
  account: string;
  request: TaskRequest;
  plan: TaskPlan;
  faults: CallFault[];
}

export class Tasks {
  readonly #clock: SimClock;
  readonly #settings: VideoSettings;
  readonly #chance: Chance;
  readonly #tasks = new Map<string, Task>();
  /** Called after every change of a status, with the new task as well. */
  onChange: (task: Task) => void = () => {};

  constructor(clock: SimClock, settings: VideoSettings, chance: Chance) {
    this.#clock = clock;
    this.#settings = settings;
    this.#chance = chance;
  }

  /** Newest first. */
  get all(): Task[] {
    return [...this.#tasks.values()].reverse();
  }

  get(id: string): Task | undefined {
    return this.#tasks.get(id);
  }

  /** Another account's task is as unknown as a missing one. */
  find(account: string, id: string): Task {
    const task = this.#tasks.get(id);
    if (task?.account === account) return task;
    throw new VideoFailure('NotFound.task_id', `The specified task ${id} is not found.`, { param: 'id' });
  }

  create({ account, request, plan, faults }: NewTask): Task {
    const queued = this.all.filter((task) => task.account === account && task.status === 'queued');
    if (queued.length >= this.#settings.queueLimit) throw new VideoFailure('QuotaExceeded');
    const now = this.#clock.now();
    const id = this.#chance.id('cgt', now);
    const { inputVideoSeconds } = this.#settings;
    const task: Task = {
      id,
      account,
      request,
      plan,
      faults,
      outcome: decideOutcome(request, plan, this.#chance, { id, inputVideoSeconds }),
      status: 'queued',
      isReady: false,
      createdAt: now,
      updatedAt: now,
      wentBackwards: false,
    };
    this.#tasks.set(id, task);
    this.onChange(task);
    this.#scheduleLife(task);
    return task;
  }

  /** Cancels a queued task and forgets a finished one, as the provider's DELETE does. */
  delete(task: Task): void {
    if (task.status === 'running' || task.status === 'cancelled') {
      throw new VideoFailure('TaskRunningCannotCancel', `A ${task.status} task cannot be cancelled or deleted.`);
    }
    if (task.status !== 'queued') return this.forget(task.id);
    const now = this.#clock.now();
    this.#change(task, 'cancelled', now);
    this.#clock.at(now + CANCELLED_LIFETIME_MS, () => this.forget(task.id));
  }

  /** Ends a task that is stuck. */
  finish(task: Task): void {
    this.#end(task, 'succeeded', this.#clock.now());
  }

  forget(id: string): void {
    this.#tasks.delete(id);
  }

  #scheduleLife(task: Task): void {
    const { createdAt, plan, request } = task;
    if (plan.stuck !== 'queued') {
      this.#clock.at(createdAt + (plan.queuedMs ?? this.#settings.queuedMs), (at) => this.#ready(task, at));
    }
    this.#clock.at(createdAt + request.expiresAfter * 1000, (at) => this.#end(task, 'expired', at));
    this.#clock.at(createdAt + TASK_LIFETIME_MS, () => this.forget(task.id));
  }

  #ready(task: Task, at: number): void {
    if (task.status !== 'queued') return;
    if (task.plan.failsIn === 'queued') return this.#end(task, 'failed', at);
    task.isReady = true;
    this.#startWaiting(task, at);
  }

  /** Starts as many tasks of the same lane as may run, the highest priority first, then the oldest. */
  #startWaiting(like: Task, at: number): void {
    const lane = [...this.#tasks.values()].filter((task) => laneOf(task) === laneOf(like));
    const limit = is4k(like) ? this.#settings.concurrency4k : this.#settings.concurrency;
    const free = limit - lane.filter(({ status }) => status === 'running').length;
    const waiting = lane.filter(({ status, isReady }) => status === 'queued' && isReady);
    waiting.sort((one, other) => other.request.priority - one.request.priority);
    for (const task of waiting.slice(0, Math.max(free, 0))) this.#start(task, at);
  }

  #start(task: Task, at: number): void {
    this.#change(task, 'running', at);
    if (task.plan.stuck === 'running') return;
    const result = task.plan.failure === undefined ? 'succeeded' : 'failed';
    this.#clock.at(at + (task.plan.runningMs ?? this.#settings.runningMs), (end) => this.#end(task, result, end));
  }

  #end(task: Task, status: TaskStatus, at: number): void {
    if (isTerminal(task.status)) return;
    if (status === 'failed') {
      const code = task.plan.failure ?? 'InternalServiceError';
      task.error = { code, message: withRequestId(defaultMessage(code), this.#chance.requestId(at)) };
    }
    this.#change(task, status, at);
    this.#startWaiting(task, at);
  }

  #change(task: Task, status: TaskStatus, at: number): void {
    task.status = status;
    task.updatedAt = at;
    this.onChange(task);
  }
}

const is4k = ({ request }: Task): boolean => request.resolution === '4k';

/** Tasks of one lane share the limit on running tasks. */
const laneOf = (task: Task): string => `${task.account} ${task.request.family} ${is4k(task) ? '4k' : ''}`;
