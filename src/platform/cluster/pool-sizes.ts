/**
 * The part of the database connections that a worker may open.
 * While a reload runs one more worker, all of them still fit.
 */
import * as rules from '../../rules/index.ts';
import type { WorkerShare } from './share.ts';

/** Workers have the numbers from 1 on. The primary applies the configuration at the start, and is idle afterwards. */
export const PRIMARY = 0;

export function poolSizes({ worker, workers }: WorkerShare): rules.PoolSizes {
  if (workers === 1) return rules.ALONE;
  if (worker === PRIMARY) return rules.LEAST;
  const jobs = worker === 1 ? rules.JOBS.main : 0;
  const part = Math.floor(FOR_WORKERS / (workers + 1)) - rules.BESIDE_POOLS;
  const reports = between(rules.LEAST.reports, Math.floor(part / 4), rules.ALONE.reports);
  const own = between(rules.LEAST.own, Math.floor(part / 5), rules.ALONE.own);
  return {
    main: Math.min(rules.ALONE.main, between(rules.LEAST.main, part - reports - own, rules.ALONE.main) + jobs),
    reports,
    own,
  };
}

/** A reload of worker 1 runs its jobs twice for a moment. */
const FOR_WORKERS =
  rules.EMBEDDED_CONNECTIONS.total -
  rules.EMBEDDED_CONNECTIONS.superusers -
  2 * (rules.JOBS.main + rules.JOBS.dedicated) -
  rules.PRIMARY_CONNECTIONS -
  rules.COMMAND_CONNECTIONS;

const between = (min: number, value: number, max: number): number => Math.max(min, Math.min(max, value));
