/** A task of the video provider and its JSON form. */
import { FRAMES_PER_SECOND } from './h264.ts';
import { type Outcome, usageOf } from './outcome.ts';
import type { TaskRequest } from './parameters.ts';
import type { CallFault, TaskPlan } from './triggers.ts';

export type TaskStatus = 'queued' | 'running' | 'cancelled' | 'succeeded' | 'failed' | 'expired';

export interface Task {
  readonly id: string;
  readonly account: string;
  readonly request: TaskRequest;
  readonly plan: TaskPlan;
  /** Faults of later calls about this task; `times` counts down. */
  readonly faults: CallFault[];
  readonly outcome: Outcome;
  status: TaskStatus;
  /** The time in the queue is over; the task waits only for a free slot. */
  isReady: boolean;
  /** Milliseconds since 1970, on the clock of the provider. */
  readonly createdAt: number;
  updatedAt: number;
  error?: { code: string; message: string };
  /** The plan `backwards` was already applied to a read. */
  wentBackwards: boolean;
  /** The last status that a read returned. */
  lastRead?: TaskStatus;
}

interface ResultUrls {
  video_url: string;
  last_frame_url?: string;
}

const TERMINAL: readonly TaskStatus[] = ['cancelled', 'succeeded', 'failed', 'expired'];

export const isTerminal = (status: TaskStatus): boolean => TERMINAL.includes(status);

/** The body of a get response and of a callback. `urls` is called only for a task that succeeded. */
export function taskView(task: Task, status: TaskStatus, now: number, urls: () => ResultUrls): object {
  const { request, plan } = task;
  return {
    id: task.id,
    model: request.model,
    status: status === 'running' && plan.unknownStatus !== undefined ? plan.unknownStatus : status,
    ...(status === 'running' && plan.progress !== undefined && { progress: plan.progress }),
    ...(status === 'failed' && { error: task.error }),
    created_at: seconds(task.createdAt),
    ...(!plan.hidesUpdatedAt && { updated_at: seconds(task.updatedAt) }),
    ...(status === 'succeeded' && resultView(task, now, urls())),
    service_tier: request.serviceTier,
    execution_expires_after: request.expiresAfter,
    generate_audio: request.generateAudio,
    draft: false,
    priority: request.priority,
    ...(request.searches && { tools: [{ type: 'web_search' }] }),
    ...(request.safetyIdentifier !== undefined && { safety_identifier: request.safetyIdentifier }),
  };
}

/** The status that a read reports; the plan `backwards` makes it step back once. */
export function reportedStatus(task: Task): TaskStatus {
  const { backwards } = task.plan;
  const stepsBack =
    !task.wentBackwards &&
    task.lastRead === task.status &&
    (backwards === 'running' ? task.status === 'running' : backwards === 'terminal' && isTerminal(task.status));
  task.lastRead = task.status;
  if (!stepsBack) return task.status;
  task.wentBackwards = true;
  return backwards === 'terminal' ? 'running' : 'queued';
}

function resultView({ request, plan, outcome, updatedAt }: Task, now: number, content: ResultUrls): object {
  const isUsageKnown = now >= updatedAt + (plan.usageAfterMs ?? 0);
  const usage = isUsageKnown ? usageOf(outcome, plan.usage) : undefined;
  return {
    error: null,
    content,
    ...(usage && { usage }),
    seed: outcome.seed,
    resolution: outcome.resolution,
    ratio: outcome.ratio,
    ...(request.frames === undefined ? { duration: outcome.duration } : { frames: outcome.frames }),
    framespersecond: FRAMES_PER_SECOND,
  };
}

const seconds = (ms: number): number => Math.floor(ms / 1000);
