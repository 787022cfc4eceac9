/** Candidates of a submission as operators see them, beside the parameters that were requested. Never a result address. */
import type { SubmissionCandidate } from '../../schemas/index.ts';
import { type ReportedTask, reportedMembers } from '../upstream/client.ts';
import { type Claimant, differencesOf } from './candidate.ts';

/** Candidates shown at most; those with the fewest differences come first. */
const MAX_SHOWN = 50;

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
