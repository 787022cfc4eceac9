/** The provider's task list, read from the newest task back to a time. */
import type { Account } from '../../catalog/index.ts';
import type { VideoServices } from '../services.ts';
import type { ReportedTask } from '../upstream/client.ts';

/**
 * Pages read at most: the newest 4,000 tasks.
 * A submission is first looked for after seconds, when its task is among the newest.
 */
const MAX_PAGES = 8;
/** The provider allows one list request per second and account. */
const PAUSE_MS = 1_100;

export interface ListPart {
  readonly upstreamModel: string;
  /** Seconds since 1970. */
  readonly from: number;
  /** Ends the list early, by the tasks that were read so far. */
  readonly isDone?: (read: ReadonlyMap<string, ReportedTask>) => boolean;
}

type ListServices = Pick<VideoServices, 'provider' | 'clock'>;

/**
 * Tasks created since `from`, each once: pages overlap when tasks are created meanwhile. Undefined when not even
 * the first page can be read; a later page that fails ends the list early.
 */
export async function readProviderList(services: ListServices, account: Account, part: ListPart) {
  const { provider, clock } = services;
  const { upstreamModel, from, isDone } = part;
  const tasks = new Map<string, ReportedTask>();
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    if (page > 1) await new Promise<void>((resolve) => void clock.after(PAUSE_MS, resolve));
    const listed = await provider.list(account, upstreamModel, page);
    if (listed.kind !== 'found') return page === 1 ? undefined : [...tasks.values()];
    for (const task of listed.value.tasks) tasks.set(task.id, task);
    const isBefore = listed.value.tasks.some(({ createdAt }) => createdAt !== undefined && createdAt < from);
    if (listed.value.isLast || isBefore || isDone?.(tasks)) break;
  }
  return [...tasks.values()];
}
