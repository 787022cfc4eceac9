/**
 * Tasks as callers see them: the task object (V 2) and the video object of the compatibility entry (V 4.7).
 * Neither contains the prompt, the media, or an id or address of the provider.
 */
import { defined, unixSeconds } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import type { ReportedUsage } from '../upstream/client.ts';
import { errorOf, parametersOf, reportedOf, statusOf, type TaskRow } from './task.ts';

/** `links` replace the addresses that need a token. */
export function taskView(task: TaskRow, publicUrl: string, links?: TaskLinks) {
  const given = parametersOf(task);
  const reported = reportedOf(task);
  const { taskFields } = rules.VARIANT_SHEETS[task.variant as rules.VideoVariant];
  const duration = reported.duration ?? (given.duration === -1 ? undefined : given.duration);
  return defined({
    id: task.id,
    model: task.model,
    status: statusOf(task),
    progress: task.progress,
    error: errorOf(task) ?? null,
    created_at: unixSeconds(task.created_at),
    updated_at: unixSeconds(task.updated_at),
    content: task.status === 'succeeded' ? contentOf(task, publicUrl, links) : undefined,
    usage: usageOf(task),
    duration,
    resolution: reported.resolution ?? given.resolution,
    ratio: reported.ratio ?? given.ratio,
    seed: taskFields.includes('seed') ? (reported.seed ?? given.seed) : undefined,
    framespersecond: taskFields.includes('framespersecond') ? reported.framespersecond : undefined,
    generate_audio: reported.generate_audio ?? given.generate_audio ?? rules.TASK_DEFAULTS.generate_audio,
    watermark: given.watermark ?? rules.TASK_DEFAULTS.watermark,
    return_last_frame: given.return_last_frame ?? rules.TASK_DEFAULTS.return_last_frame,
    label: task.label ?? undefined,
  });
}

/**
 * Every parameter in effect: as reported, as requested, or the default.
 * Absent ones are the provider's choice and not known yet.
 */
export function effectiveParameters(task: TaskRow) {
  const { prompt_options: _, ...given } = parametersOf(task);
  const { duration, resolution, ratio, seed, generate_audio } = reportedOf(task);
  const expirySeconds = Math.round((task.expires_at.getTime() - task.created_at.getTime()) / 1_000);
  return defined({
    execution_expires_after: expirySeconds,
    service_tier: task.service_tier ?? undefined,
    ...rules.TASK_DEFAULTS,
    ...given,
    ...defined({ duration, resolution, ratio, seed, generate_audio }),
  });
}

type TaskLinks = { readonly video_url: string; readonly last_frame_url?: string };

const contentOf = (task: TaskRow, publicUrl: string, links: TaskLinks | undefined) =>
  defined({
    video_url: links?.video_url ?? `${publicUrl}/v1/videos/${task.id}/content`,
    last_frame_url: reportedOf(task).last_frame
      ? (links?.last_frame_url ?? `${publicUrl}/v1/videos/${task.id}/last-frame`)
      : undefined,
  });

/**
 * Only usage that the provider reported, as it did; never an estimate (V 2).
 * Older tasks, and counts that an operator entered, have one number.
 */
function usageOf(task: TaskRow): ReportedUsage | undefined {
  if (task.usage_tokens === null || task.unit !== 'tokens') return undefined;
  const tokens = Number(task.usage_tokens);
  return reportedOf(task).usage ?? { completion_tokens: tokens, total_tokens: tokens };
}

/** Status of the video object, by the status of the task. */
export const VIDEO_STATUS: Readonly<Record<rules.TaskStatus, 'queued' | 'in_progress' | 'completed' | 'failed'>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  expired: 'failed',
};

/** How long a result can be fetched from the provider. */
const RESULT_HOURS = 24;

/** A mirror may keep it longer. */
export const resultExpiry = ({ status, finished_at }: TaskRow): number | undefined =>
  status === 'succeeded' && finished_at !== null ? unixSeconds(finished_at) + RESULT_HOURS * 3_600 : undefined;

export function videoView(task: TaskRow) {
  const given = parametersOf(task);
  const reported = reportedOf(task);
  const duration = reported.duration ?? (given.duration === -1 ? undefined : given.duration);
  const completed = task.finished_at === null ? null : unixSeconds(task.finished_at);
  return defined({
    id: task.id,
    object: 'video',
    model: task.model,
    status: VIDEO_STATUS[statusOf(task)],
    progress: task.progress,
    created_at: unixSeconds(task.created_at),
    completed_at: completed,
    expires_at: resultExpiry(task) ?? null,
    error: errorOf(task) ?? null,
    prompt: null,
    remixed_from_video_id: null,
    seconds: duration === undefined ? 'auto' : String(duration),
    size: rules.sizeText(reported.resolution ?? given.resolution, reported.ratio ?? given.ratio) ?? 'auto',
    usage: usageOf(task),
    label: task.label ?? undefined,
  });
}
