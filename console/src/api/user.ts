/** The API of a signed-in user: own keys, usage, calls, tasks and assets. Never an account, a cost or a margin. */
import type {
  AssetGroup,
  CallerAsset,
  Hit,
  KeptObject,
  KeyWithValue,
  Me,
  OwnAuthorization,
  OwnKey,
  OwnModel,
  OwnObjects,
  OwnRequest,
  OwnTask,
  Page,
  ReadTask,
  ShownCapture,
  ShownLink,
  ShownMovement,
  ShownSession,
  UserUsagePage,
} from '../../../src/schemas/index.ts';
import { get, type Query, send, urlOf } from './client.ts';
import { apiAt, type Body } from './paths.ts';
import { warningsAt } from './warnings.ts';

const { at, listOf } = apiAt('/console/v1');

export const session = {
  read: () => get<ShownSession>(at('/session')),
  open: (body: Body) => send<ShownSession>('POST', at('/session'), { body }),
  close: () => send<unknown>('DELETE', at('/session')),
  readLink: (token: string) => send<ShownLink>('POST', at('/link/read'), { body: { token } }),
  redeem: (body: Body) => send<ShownSession>('POST', at('/link'), { body }),
  changePassword: (body: Body) => send<ShownSession>('POST', at('/password'), { body }),
  oidcStart: at('/oidc/start'),
};

export const mine = {
  me: () => get<Me>(at('/me')),
  models: listOf<OwnModel>('/models'),
  keys: listOf<OwnKey>('/keys'),
  key: (id: string) => get<OwnKey>(at('/keys/{}', id)),
  createKey: (body: Body) => send<OwnKey & KeyWithValue>('POST', at('/keys'), { body }),
  changeKey: (id: string, body: Body) => send<OwnKey>('PATCH', at('/keys/{}', id), { body }),
  rotateKey: (id: string, body: Body) => send<OwnKey & KeyWithValue>('POST', at('/keys/{}/rotate', id), { body }),
  revokeKey: (id: string, body: Body) => send<OwnKey>('POST', at('/keys/{}/revoke', id), { body }),
  captureKey: (id: string, hours: number) => send<OwnKey>('POST', at('/keys/{}/capture', id), { body: { hours } }),
  usage: (query: Query) => get<UserUsagePage>(at('/usage'), query),
  usageCsv: (query: Query) => urlOf(at('/usage'), { ...query, format: 'csv' }),
  exportData: () => at('/export'),
  charges: listOf<ShownMovement>('/charges'),
  search: listOf<Hit>('/search'),
  requests: listOf<OwnRequest>('/requests'),
  request: (id: string) => get<OwnRequest>(at('/requests/{}', id)),
  capture: (id: string) => get<ShownCapture>(at('/requests/{}/capture', id)),
  chargesCsv: () => `${at('/charges')}?format=csv`,
  tasks: async (query: Query = {}, signal?: AbortSignal): Promise<Page<ReadTask>> => {
    const page = await listOf<OwnTask>('/tasks')(query, signal);
    return { ...page, data: page.data.map(taskOf) };
  },
  task: async (id: string): Promise<ReadTask> => taskOf(await get<OwnTask>(at('/tasks/{}', id))),
  video: (task: string) => at('/tasks/{}/content', task),
  lastFrame: (task: string) => at('/tasks/{}/last-frame', task),
  assets: listOf<CallerAsset>('/assets'),
  assetGroups: listOf<AssetGroup>('/asset-groups'),
  authorizations: listOf<OwnAuthorization>('/authorizations'),
  objects: listOf<KeptObject>('/objects'),
  fileRoom: () => get<OwnObjects>(at('/objects'), { limit: 1 }),
  deleteObject: (id: string) => send<unknown>('DELETE', at('/objects/{}', id)),
  warnings: warningsAt(at, listOf),
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
  hold,
  ...rest
}: OwnTask): ReadTask {
  const isDone = status !== 'queued' && status !== 'running';
  return {
    id,
    model,
    status,
    progress,
    error,
    parameters: rest,
    hold,
    in_review: hold?.state === 'review',
    tokens: usage?.total_tokens ?? null,
    has_last_frame: content?.last_frame_url !== undefined,
    created_at: isoOf(created_at),
    updated_at: isoOf(updated_at),
    finished_at: isDone ? isoOf(updated_at) : null,
  };
}

const isoOf = (seconds: number): string => new Date(seconds * 1000).toISOString();
