/** Video tasks and assets of the signed-in person's user. Their views are those of the caller's API. */
import { z } from 'zod';
import {
  authorizationView,
  listOf,
  OwnAuthorizationsQuery,
  pageParams,
  param,
  readJson,
  readQuery,
  rowKey,
  sendAuthorizations,
  sendPage,
} from '../admin/index.ts';
import { fail, formatNanos } from '../core/index.ts';
import type { Db } from '../db/index.ts';
import { findKeyOfUser } from '../identity/index.ts';
import { line, type OwnTask } from '../objects/index.ts';
import { ASSET_GROUP_STATUSES, ASSET_STATUSES, TASK_STATUSES } from '../rules/index.ts';
import { type Call, sendJson } from '../web/index.ts';
import type { ConsoleServices, Owner } from './services.ts';

/** Rows of tasks and assets are large. */
const MAX_PAGE = 100;

const TasksQuery = z.strictObject({
  user: param.user,
  status: listOf(TASK_STATUSES).optional(),
  model: param.model,
  ...pageParams(rowKey.text, MAX_PAGE),
});

export async function listOwnTasks({ video, db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  const { status, model, limit, cursor } = readQuery(call.query, TasksQuery);
  const filter = { userId, statuses: status, model };
  const rows = await video.listTasksAfter(filter, { after: cursor?.[0], limit, order: 'desc' });
  const holds = await holdsOf(
    db,
    userId,
    rows.map(({ id }) => id),
  );
  const view = (task: (typeof rows)[number]) => ({ ...video.taskView(task), hold: holds.get(task.id) ?? null });
  sendPage(call, rows, { limit, view, key: ({ id }) => [id] });
}

/** What the tasks hold or were charged, by the id of the task. */
async function holdsOf(db: Db, userId: string, tasks: readonly string[]): Promise<Map<string, OwnTask['hold']>> {
  if (tasks.length === 0) return new Map();
  const rows = await db
    .selectFrom('holds')
    .select(['reference', 'state', 'nanos', 'settled_nanos'])
    .where('user_id', '=', userId)
    .where(
      'reference',
      'in',
      tasks.map((id) => REFERENCE + id),
    )
    .execute();
  return new Map(
    rows.map(({ reference, state, nanos, settled_nanos }) => [
      reference.slice(REFERENCE.length),
      {
        state: state as NonNullable<OwnTask['hold']>['state'],
        held: formatNanos(nanos),
        charged: settled_nanos === null ? null : formatNanos(settled_nanos),
      },
    ]),
  );
}

const REFERENCE = 'task:';

const OneQuery = z.strictObject({ user: param.user });

export async function getOwnTask({ video, db }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, OneQuery);
  const task = await video.getTask(owner, call.params.task ?? '');
  const holds = await holdsOf(db, owner.userId, [task.id]);
  sendJson(call, 200, { ...video.taskView(task), hold: holds.get(task.id) ?? null });
}

export async function sendTaskVideo({ video }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, OneQuery);
  await video.deliverResult(call, await video.getTask(owner, call.params.task ?? ''), 'video');
}

export async function sendTaskLastFrame({ video }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, OneQuery);
  await video.deliverResult(call, await video.getTask(owner, call.params.task ?? ''), 'last_frame');
}

const NO_QUERY = z.strictObject({});
const EstimateBody = z.strictObject({
  key: line(100, 'the key that would pay'),
  task: z.record(z.string(), z.unknown()).describe('the body of a create request'),
});

/** Checked and priced like the creation, so that the page shows what it would hold. */
export async function estimateOwnTask({ video, db, clock }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  readQuery(call.query, NO_QUERY);
  const { key: id, task } = await readJson(call, EstimateBody);
  const key = await findKeyOfUser(db, owner.userId, id, clock.now());
  if (!key) throw fail('invalid_api_key', 'key: your user has no valid key with this id; choose another one.');
  const bytes = Buffer.from(JSON.stringify(task));
  sendJson(call, 200, await video.estimateTask(key, { entry: 'tasks', bytes }));
}

const AssetsQuery = z.strictObject({
  user: param.user,
  status: listOf(ASSET_STATUSES).optional(),
  group: param.group,
  ...pageParams(rowKey.text, MAX_PAGE),
});

export async function listOwnAssets({ video: { assets } }: ConsoleServices, call: Call, owner: Owner): Promise<void> {
  const { status, group, limit, cursor } = readQuery(call.query, AssetsQuery);
  const filter = { statuses: status, assetGroupId: group };
  const rows = await assets.listOwn(owner.userId, 'assets', filter, { after: cursor?.[0], limit });
  sendPage(call, rows, { limit, view: (asset) => assets.view('assets', asset), key: ({ id }) => [id] });
}

const AssetGroupsQuery = z.strictObject({
  user: param.user,
  status: listOf(ASSET_GROUP_STATUSES).optional(),
  ...pageParams(rowKey.text, MAX_PAGE),
});

export async function listOwnAssetGroups(
  { video: { assets } }: ConsoleServices,
  call: Call,
  owner: Owner,
): Promise<void> {
  const { status, limit, cursor } = readQuery(call.query, AssetGroupsQuery);
  const rows = await assets.listOwn(owner.userId, 'asset_groups', { statuses: status }, { after: cursor?.[0], limit });
  sendPage(call, rows, { limit, view: (group) => assets.view('asset_groups', group), key: ({ id }) => [id] });
}

export async function listOwnAuthorizations({ db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  const query = readQuery(call.query, OwnAuthorizationsQuery);
  await sendAuthorizations(call, { ...query, account: undefined, user: userId }, { db, view: authorizationView });
}

export const OWN_VIDEO_SCHEMAS = {
  'console.tasks': { query: TasksQuery },
  'console.task': { query: OneQuery },
  'console.taskVideo': { query: OneQuery },
  'console.taskLastFrame': { query: OneQuery },
  'console.taskEstimate': { query: NO_QUERY, body: EstimateBody },
  'console.authorizations': { query: OwnAuthorizationsQuery },
  'console.assets': { query: AssetsQuery },
  'console.assetGroups': { query: AssetGroupsQuery },
};
