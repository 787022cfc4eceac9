/** The API of a signed-in user: own keys, usage, calls, tasks and assets. Never an account, a cost or a margin. */
import { get, type Query, send, urlOf } from './client.ts';
import { apiAt, type Body } from './paths.ts';
import type {
  Asset,
  AssetGroup,
  Authorization,
  CallerTask,
  Key,
  LinkPurpose,
  List,
  Me,
  NewKey,
  RequestDetail,
  RequestLine,
  Session,
  StatementLine,
  Task,
  TaskEstimate,
  UsageReport,
} from './types.ts';

const { at, listOf } = apiAt('/console/v1');

export const session = {
  read: () => get<Session>(at('/session')),
  open: (body: Body) => send<Session>('POST', at('/session'), { body }),
  close: () => send<unknown>('DELETE', at('/session')),
  readLink: (token: string) => send<LinkPurpose>('POST', at('/link/read'), { body: { token } }),
  redeem: (body: Body) => send<Session>('POST', at('/link'), { body }),
  changePassword: (body: Body) => send<Session>('POST', at('/password'), { body }),
  oidcStart: at('/oidc/start'),
};

export const mine = {
  me: () => get<Me>(at('/me')),
  keys: listOf<Key>('/keys'),
  key: (id: string) => get<Key>(at('/keys/{}', id)),
  createKey: (body: Body) => send<NewKey>('POST', at('/keys'), { body }),
  changeKey: (id: string, body: Body) => send<Key>('PATCH', at('/keys/{}', id), { body }),
  rotateKey: (id: string, body: Body) => send<NewKey>('POST', at('/keys/{}/rotate', id), { body }),
  revokeKey: (id: string, body: Body) => send<Key>('POST', at('/keys/{}/revoke', id), { body }),
  usage: (query: Query) => get<UsageReport>(at('/usage'), query),
  usageCsv: (query: Query) => urlOf(at('/usage'), { ...query, format: 'csv' }),
  charges: listOf<StatementLine>('/charges'),
  requests: listOf<RequestLine>('/requests'),
  request: (id: string) => get<RequestDetail>(at('/requests/{}', id)),
  chargesCsv: () => `${at('/charges')}?format=csv`,
  tasks: async (query: Query = {}, signal?: AbortSignal): Promise<List<Task>> => {
    const page = await listOf<CallerTask>('/tasks')(query, signal);
    return { ...page, data: page.data.map(taskOf) };
  },
  task: async (id: string): Promise<Task> => taskOf(await get<CallerTask>(at('/tasks/{}', id))),
  video: (task: string) => at('/tasks/{}/content', task),
  lastFrame: (task: string) => at('/tasks/{}/last-frame', task),
  assets: listOf<Asset>('/assets'),
  assetGroups: listOf<AssetGroup>('/asset-groups'),
  authorizations: listOf<Authorization>('/authorizations'),
  /** What the creation of a task would hold. */
  estimateTask: (body: Body, signal?: AbortSignal) =>
    send<TaskEstimate>('POST', at('/task-estimate'), { body, signal }),
};

/** The shape that operators read, from the task object of the caller API. */
function taskOf({
  id,
  model,
  status,
  progress = 0,
  error,
  created_at,
  updated_at,
  content,
  usage,
  ...rest
}: CallerTask): Task {
  const isDone = status !== 'queued' && status !== 'running';
  return {
    id,
    model,
    status,
    progress,
    error,
    parameters: rest,
    tokens: usage?.total_tokens ?? null,
    has_last_frame: content?.last_frame_url !== undefined,
    created_at: isoOf(created_at),
    updated_at: isoOf(updated_at),
    finished_at: isDone ? isoOf(updated_at) : null,
  };
}

const isoOf = (seconds: number): string => new Date(seconds * 1000).toISOString();
