/**
 * Query parameters of reads and lists of tasks (V 4.3, V 4.4, V 4.7). src/api/caller reads requests by these tables,
 * and scripts/openapi describes them.
 */
import { ASSET_GROUP_STATUSES, ASSET_STATUSES, ASSET_TYPES } from './assets.ts';
import { CALLBACK_STATES } from './callbacks.ts';
import { LIST_LIMIT, TASK_LIST, TASK_WAIT } from './limits.ts';
import { TASK_STATUSES } from './status.ts';

export type QueryRule = { readonly about: string } & (
  | { readonly kind: 'integer'; readonly min: number; readonly max: number; readonly default: number }
  | { readonly kind: 'text' }
  | { readonly kind: 'required' }
  | { readonly kind: 'word'; readonly vocabulary: readonly string[]; readonly default: string }
  /** May be repeated; a task that matches one of the values is listed. */
  | { readonly kind: 'values'; readonly vocabulary: readonly string[] }
  | { readonly kind: 'texts'; readonly maxItems: number }
);
export type QueryTable = Readonly<Record<string, QueryRule>>;

/** `wait` goes beyond the document: a read that returns when the task changes. */
const READ = {
  wait: {
    kind: 'integer',
    ...TASK_WAIT.seconds,
    default: 0,
    about: 'seconds to wait for a change of an unfinished task before responding',
  },
} as const satisfies QueryTable;

const INCLUDE = {
  include: {
    kind: 'values',
    vocabulary: ['parameters', 'charge', 'expiry'],
    about:
      'adds `parameters`: every parameter in effect; `charge`: what the task holds or was charged; or `expiry`: until when results can be read',
  },
} as const satisfies QueryTable;

const LABELS = { kind: 'texts', maxItems: TASK_LIST.maxTaskIds, about: 'label of a task; may be repeated' } as const;

export const VIDEO_QUERIES = {
  'tasks.get': { ...READ, ...INCLUDE },
  'videos.get': { ...READ, ...INCLUDE },
  'tasks.list': {
    page_num: { kind: 'integer', ...TASK_LIST.pageNumber, about: 'number of the page' },
    page_size: { kind: 'integer', ...TASK_LIST.pageSize, about: 'tasks per page' },
    'filter.status': { kind: 'values', vocabulary: TASK_STATUSES, about: 'status of the task; may be repeated' },
    'filter.task_ids': { kind: 'texts', maxItems: TASK_LIST.maxTaskIds, about: 'id of a task; may be repeated' },
    'filter.model': { kind: 'text', about: 'public name of the model' },
    'filter.service_tier': { kind: 'text', about: 'service tier; only tasks of variant A have one' },
    'filter.label': LABELS,
    ...INCLUDE,
  },
  'assetGroups.list': {
    limit: { kind: 'integer', ...LIST_LIMIT, about: 'groups per page' },
    after: { kind: 'text', about: '`last_id` of the previous page' },
    status: { kind: 'values', vocabulary: ASSET_GROUP_STATUSES, about: 'status of the group; may be repeated' },
    route_group_id: { kind: 'text', about: 'id of the service group' },
  },
  'assets.list': {
    limit: { kind: 'integer', ...LIST_LIMIT, about: 'assets per page' },
    after: { kind: 'text', about: '`last_id` of the previous page' },
    status: { kind: 'values', vocabulary: ASSET_STATUSES, about: 'status of the asset; may be repeated' },
    asset_type: { kind: 'values', vocabulary: ASSET_TYPES, about: 'type of the asset; may be repeated' },
    group_id: { kind: 'text', about: 'id of the asset group' },
    route_group_id: { kind: 'text', about: 'id of the service group' },
  },
  'characters.list': {
    model: { kind: 'required', about: 'public name of the model' },
    limit: { kind: 'integer', ...LIST_LIMIT, about: 'characters per page' },
    after: { kind: 'text', about: '`last_id` of the previous page' },
    q: { kind: 'text', about: 'part of the name' },
    tags: {
      kind: 'texts',
      maxItems: 20,
      about: 'a tag, or several separated by commas; may be repeated, all must match',
    },
    gender: { kind: 'text', about: 'gender' },
    age_group: { kind: 'text', about: 'age group' },
    nationality: { kind: 'text', about: 'nationality' },
  },
  'characters.get': { model: { kind: 'text', about: 'only if the character is for this model' } },
  'videos.content': { variant: { kind: 'text', about: '`video`, or `thumbnail` for the last frame' } },
  'videos.lastFrame': {},
  'callbacks.list': {
    limit: { kind: 'integer', ...LIST_LIMIT, about: 'callbacks per page' },
    after: { kind: 'text', about: '`last_id` of the previous page' },
    task_id: { kind: 'text', about: 'id of the task' },
    state: { kind: 'values', vocabulary: CALLBACK_STATES, about: 'state of the delivery; may be repeated' },
  },
  'videos.list': {
    limit: { kind: 'integer', ...LIST_LIMIT, about: 'videos per page' },
    after: { kind: 'text', about: '`last_id` of the previous page' },
    order: { kind: 'word', vocabulary: ['asc', 'desc'], default: 'desc', about: 'order by creation' },
    label: LABELS,
    ...INCLUDE,
  },
} as const satisfies Record<string, QueryTable>;
