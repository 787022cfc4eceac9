/** The part of the database connections that a worker may open. While a reload runs one more worker, all of them still fit. */
import {
  ALONE,
  BESIDE_POOLS,
  COMMAND_CONNECTIONS,
  EMBEDDED_CONNECTIONS,
  JOBS,
  LEAST,
  type PoolSizes,
  PRIMARY_CONNECTIONS,
} from '../../rules/index.ts';
import type { WorkerShare } from './share.ts';

/** Workers have the numbers from 1 on. The primary applies the configuration at the start, and is idle afterwards. */
export const PRIMARY = 0;

export function poolSizes({ worker, workers }: WorkerShare): PoolSizes {
  if (workers === 1) return ALONE;
  if (worker === PRIMARY) return LEAST;
  const jobs = worker === 1 ? JOBS.main : 0;
  const part = Math.floor(FOR_WORKERS / (workers + 1)) - BESIDE_POOLS;
  const reports = between(LEAST.reports, Math.floor(part / 4), ALONE.reports);
  const own = between(LEAST.own, Math.floor(part / 5), ALONE.own);
  return { main: Math.min(ALONE.main, between(LEAST.main, part - reports - own, ALONE.main) + jobs), reports, own };
}

/** A reload of worker 1 runs its jobs twice for a moment. */
const FOR_WORKERS =
  EMBEDDED_CONNECTIONS.total -
  EMBEDDED_CONNECTIONS.superusers -
  2 * (JOBS.main + JOBS.dedicated) -
  PRIMARY_CONNECTIONS -
  COMMAND_CONNECTIONS;

const between = (min: number, value: number, max: number): number => Math.max(min, Math.min(max, value));
