/** Filters and pages of the task list. */
import { invalid } from './errors.ts';
import type { Task } from './task.ts';

const STATUSES = ['queued', 'running', 'cancelled', 'succeeded', 'failed', 'expired'];
const LARGEST_PAGE = 500;

/** `tasks` are those of one account, newest first. */
export function listTasks(tasks: readonly Task[], query: URLSearchParams): { items: Task[]; total: number } {
  const page = pageNumber(query, 'page_num', 1);
  const size = pageNumber(query, 'page_size', 20);
  const status = query.get('filter.status');
  if (status !== null && !STATUSES.includes(status)) throw invalid('filter.status', `"${status}" is not a status`);
  const ids = query.getAll('filter.task_ids');
  const model = query.get('filter.model');
  const tier = query.get('filter.service_tier') ?? 'default';
  const matching = tasks.filter(
    (task) =>
      (status === null || task.status === status) &&
      (ids.length === 0 || ids.includes(task.id)) &&
      (model === null || task.request.model === model) &&
      task.request.serviceTier === tier,
  );
  return { items: matching.slice((page - 1) * size, page * size), total: matching.length };
}

function pageNumber(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  const number = Number(text);
  const isFitting = /^\d+$/.test(text) && number >= 1 && number <= LARGEST_PAGE;
  if (!isFitting) throw invalid(name, `it must be between 1 and ${LARGEST_PAGE}`);
  return number;
}
