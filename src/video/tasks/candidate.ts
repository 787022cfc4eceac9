/**
 * Comparison of a task of the provider with a submission whose outcome is unknown.
 * User, account and time decide whether it is possible at all; every other value that the provider reports tells
 * submissions of one user apart. A value that was not reported excludes nothing.
 */
import { TASK_EXPIRY_SECONDS } from '../../rules/index.ts';
import type { SubmissionCandidate } from '../../schemas/index.ts';
import type { AdapterTraits } from '../upstream/adapters.ts';
import { type ReportedTask, reportedMembers } from '../upstream/client.ts';
import { hashCallbackToken, parametersOf, type TaskParameters, type TaskRow } from './task.ts';

/** How far the provider's clock may differ from ours. */
const CLOCK_SKEW_S = 120;
/** The longest time between our commit and the provider's creation of the task. */
const SUBMISSION_WINDOW_S = 300;

export type Claimant = Pick<
  TaskRow,
  'created_at' | 'safety_identifier' | 'parameters' | 'has_video_input' | 'callback_token_hash' | 'sent_expiry' | 'id'
>;

/** Seconds since 1970 in which the provider can have created the task of a submission. */
export function creationWindow({ created_at }: Pick<TaskRow, 'created_at'>): { from: number; to: number } {
  const sent = created_at.getTime() / 1_000;
  return { from: sent - CLOCK_SKEW_S, to: sent + SUBMISSION_WINDOW_S + CLOCK_SKEW_S };
}

/**
 * Whether the provider reported enough to tell whose task it is: one without the identifier could be another user's.
 */
export const isComplete = ({ createdAt, safetyIdentifier }: ReportedTask, traits: AdapterTraits): boolean =>
  createdAt !== undefined && (safetyIdentifier !== undefined || !traits.takesSafetyIdentifier);

/** Whether user, label and time allow that the submission created the task. */
export function isPossible(claimant: Claimant, { createdAt, safetyIdentifier, label }: ReportedTask): boolean {
  if (label !== undefined && label !== claimant.id) return false;
  if (safetyIdentifier !== undefined && safetyIdentifier !== claimant.safety_identifier) return false;
  const { from, to } = creationWindow(claimant);
  return createdAt === undefined || (createdAt >= from && createdAt <= to);
}

/** Names of the values that contradict the submission. Our secret path, where it is reported, decides alone. */
export function differencesOf(claimant: Claimant, reported: ReportedTask): readonly string[] {
  const token = /\/upstream\/callbacks\/([\w-]+)$/.exec(reported.callbackUrl ?? '')?.[1];
  if (token !== undefined) return hashCallbackToken(token).equals(claimant.callback_token_hash) ? [] : ['callback_url'];
  return [...pictureDifferences(claimant, reported), ...otherDifferences(claimant, reported)];
}

/** Options in the prompt, such as `--rs 1080p`, replace these parameters. */
function pictureDifferences(claimant: Claimant, reported: ReportedTask): string[] {
  const given = parametersOf(claimant);
  if (given.prompt_options) return [];
  const expected = {
    resolution: given.resolution,
    // An edited video keeps the ratio and the length of its input.
    ratio: claimant.has_video_input || given.ratio === 'adaptive' ? undefined : given.ratio,
    duration: claimant.has_video_input ? undefined : expectedDuration(given),
    frames: given.frames,
    seed: given.seed === -1 ? undefined : given.seed,
    watermark: given.watermark,
  };
  return differing(expected, reported);
}

/** Providers count 24 frames per second, and report whole seconds. */
const expectedDuration = ({ duration, frames }: TaskParameters): number | undefined => {
  if (frames !== undefined) return Math.floor(frames / 24);
  return duration === -1 ? undefined : duration;
};

/**
 * Values that a request without them has as well; we never ask for another tier,
 * and for a last frame or a search only if asked.
 */
function otherDifferences(claimant: Claimant, reported: ReportedTask): string[] {
  const given = parametersOf(claimant);
  const expected = {
    generate_audio: given.generate_audio,
    service_tier: given.service_tier ?? 'default',
    execution_expires_after: given.execution_expires_after ?? sentExpiry(claimant, reported),
    searches: (given.tools?.length ?? 0) > 0,
  };
  const isOtherFrame = reported.lastFrameUrl !== undefined && given.return_last_frame !== true;
  return [...differing(expected, reported), ...(isOtherFrame ? ['return_last_frame'] : [])];
}

/** We never send the default: a provider that returns it has not taken ours, which then tells nothing. */
const sentExpiry = ({ sent_expiry }: Claimant, reported: ReportedTask): number | undefined =>
  reported.execution_expires_after === TASK_EXPIRY_SECONDS.default ? undefined : (sent_expiry ?? undefined);

function differing<T extends object>(expected: T, reported: { readonly [K in keyof T]?: unknown }): string[] {
  const names = Object.keys(expected) as (keyof T & string)[];
  return names.filter(
    (name) => expected[name] !== undefined && reported[name] !== undefined && reported[name] !== expected[name],
  );
}

/** Candidates that operators see at most; those with the fewest differences come first. */
const MAX_SHOWN = 50;

/** Beside the parameters that were requested. Never a result address. */
export const shownCandidates = (claimant: Claimant, candidates: readonly ReportedTask[]): SubmissionCandidate[] =>
  candidates
    .map((candidate) => shown(claimant, candidate))
    .sort((one, other) => one.differs.length - other.differs.length)
    .slice(0, MAX_SHOWN);

const shown = (claimant: Claimant, candidate: ReportedTask): SubmissionCandidate => ({
  upstream_task: candidate.id,
  status: candidate.status,
  created_at: new Date((candidate.createdAt ?? 0) * 1_000).toISOString(),
  parameters: reportedMembers(candidate, PARAMETERS),
  differs: [...differencesOf(claimant, candidate)],
});

/** Under the names of V 4.2. */
const PARAMETERS = [
  ...(['resolution', 'ratio', 'duration', 'frames', 'seed', 'generate_audio', 'watermark'] as const),
  ...(['service_tier', 'execution_expires_after'] as const),
];
