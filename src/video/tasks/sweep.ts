/**
 * A look at many tasks of an account at once, by pages of the provider's list:
 * where more are due than single reads can follow. What a page does not show in full is left to single reads.
 */
import type { Account } from '../../catalog/index.ts';
import type { VideoServices } from '../services.ts';
import { traitsOf } from '../upstream/adapters.ts';
import type { ReportedTask } from '../upstream/client.ts';
import { type ApplyServices, applyReport, isNews } from './apply.ts';
import { creationWindow } from './candidate.ts';
import { checkAgain, type DueTask } from './due.ts';
import { readProviderList } from './provider-list.ts';

type SweepServices = ApplyServices & Pick<VideoServices, 'provider'>;

/** Reports that are applied at the same time. */
const WIDTH = 8;

export const canSweep = (account: Account): boolean => traitsOf(account).listing !== undefined;

interface Sweep {
  readonly tasks: readonly DueTask[];
  readonly isStopped: () => boolean;
}

/** False when the provider does not list its tasks now. `isStopped` ends it between two pages. */
export async function sweepTasks(services: SweepServices, account: Account, sweep: Sweep): Promise<boolean> {
  const { tasks, isStopped } = sweep;
  const byModel = Map.groupBy(tasks, ({ upstream_model: model }) => account.models.get(model) ?? model);
  const unseen: DueTask[] = [];
  let isListed = true;
  for (const [upstreamModel, wanted] of byModel) {
    const from = Math.min(...wanted.map((task) => creationWindow(task).from));
    const isDone = (read: ReadonlyMap<string, unknown>): boolean =>
      isStopped() || wanted.every(({ upstream_id }) => read.has(upstream_id ?? ''));
    const listed: readonly ReportedTask[] | undefined = isListed
      ? await readProviderList(services, account, { upstreamModel, from, isDone })
      : undefined;
    isListed = listed !== undefined;
    const reports = new Map(listed?.map((report) => [report.id, report]));
    unseen.push(...(await applyListed(services, wanted, reports)));
  }
  await checkAgain(services.db, unseen);
  return isListed;
}

/** Returns the tasks that a single read must look at. */
async function applyListed(
  services: SweepServices,
  tasks: readonly DueTask[],
  reports: ReadonlyMap<string, ReportedTask>,
): Promise<readonly DueTask[]> {
  const left = [...tasks];
  const unseen: DueTask[] = [];
  const applyNext = async (): Promise<void> => {
    for (let task = left.pop(); task; task = left.pop()) {
      const value = reports.get(task.upstream_id ?? '');
      if (!value || !isWhole(task, value)) unseen.push(task);
      else if (isNews(services, task, { kind: 'found', value }))
        await applyReport(services, task, { kind: 'found', value });
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, applyNext));
  return unseen;
}

/** A list may leave out what a success needs; a cancellation has to be sent, and a review has its own checks. */
const isWhole = ({ cancel_requested_at, review_until }: DueTask, report: ReportedTask): boolean =>
  cancel_requested_at === null &&
  review_until === null &&
  (report.status !== 'succeeded' || (report.videoUrl !== undefined && report.usageTokens !== undefined));
