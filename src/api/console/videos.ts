/** Video tasks and assets of the signed-in person's user. Their views are those of the caller's API. */
import { z } from 'zod';
import { findKeyOfUser } from '../../access/keys/index.ts';
import { fail } from '../../core/index.ts';
import { sendJson } from '../../platform/web/index.ts';
import { ASSET_GROUP_STATUSES, ASSET_STATUSES, TASK_STATUSES } from '../../rules/index.ts';
import { line } from '../../schemas/index.ts';
import { holdsOfTasks } from '../../video/index.ts';
import {
  authorizationView,
  listOf,
  OwnAuthorizationsQuery,
  pageParams,
  param,
  rowKey,
  sendAuthorizations,
  sendPage,
} from '../admin/index.ts';
import { ONLY_USER, ownOperation } from './services.ts';

/** Rows of tasks and assets are large. */
const MAX_PAGE = 100;

const TasksQuery = z.strictObject({
  user: param.user,
  status: listOf(TASK_STATUSES).optional(),
  model: param.model,
  ...pageParams(rowKey.text, MAX_PAGE),
});

export const listOwnTasks = ownOperation({
  query: TasksQuery,
  async handle({ call, query: { status, model, limit, cursor }, userId }, { video, db }) {
    const filter = { userId, statuses: status, model };
    const rows = await video.listTasksAfter(filter, { after: cursor?.[0], limit, order: 'desc' });
    const holds = await holdsOfTasks(
      db,
      userId,
      rows.map(({ id }) => id),
    );
    const view = (task: (typeof rows)[number]) => ({ ...video.taskView(task), hold: holds.get(task.id) ?? null });
    sendPage(call, rows, { limit, view, key: ({ id }) => [id] });
  },
});

export const getOwnTask = ownOperation({
  query: ONLY_USER,
  async handle({ call, userId }, { video, db }) {
    const task = await video.getTask({ userId }, call.params.task ?? '');
    const holds = await holdsOfTasks(db, userId, [task.id]);
    sendJson(call, 200, { ...video.taskView(task), hold: holds.get(task.id) ?? null });
  },
});

export const sendTaskVideo = ownOperation({
  query: ONLY_USER,
  async handle({ call, userId }, { video }) {
    await video.deliverResult(call, await video.getTask({ userId }, call.params.task ?? ''), 'video');
  },
});

export const sendTaskLastFrame = ownOperation({
  query: ONLY_USER,
  async handle({ call, userId }, { video }) {
    await video.deliverResult(call, await video.getTask({ userId }, call.params.task ?? ''), 'last_frame');
  },
});

const EstimateBody = z.strictObject({
  key: line(100, 'the key that would pay'),
  task: z.record(z.string(), z.unknown()).describe('the body of a create request'),
});

/** Checked and priced like the creation, so that the page shows what it would hold. */
export const estimateOwnTask = ownOperation({
  body: EstimateBody,
  async handle({ call, body: { key: id, task }, userId }, { video, db, clock }) {
    const key = await findKeyOfUser(db, userId, id, clock.now());
    if (!key) throw fail('invalid_api_key', 'key: your user has no valid key with this id; choose another one.');
    const bytes = Buffer.from(JSON.stringify(task));
    sendJson(call, 200, await video.estimateTask(key, { entry: 'tasks', bytes }));
  },
});

const AssetsQuery = z.strictObject({
  user: param.user,
  status: listOf(ASSET_STATUSES).optional(),
  group: param.group,
  ...pageParams(rowKey.text, MAX_PAGE),
});

export const listOwnAssets = ownOperation({
  query: AssetsQuery,
  async handle({ call, query: { status, group, limit, cursor }, userId }, { video: { assets } }) {
    const filter = { statuses: status, assetGroupId: group };
    const rows = await assets.listOwn(userId, 'assets', filter, { after: cursor?.[0], limit });
    sendPage(call, rows, { limit, view: (asset) => assets.view('assets', asset), key: ({ id }) => [id] });
  },
});

const AssetGroupsQuery = z.strictObject({
  user: param.user,
  status: listOf(ASSET_GROUP_STATUSES).optional(),
  ...pageParams(rowKey.text, MAX_PAGE),
});

export const listOwnAssetGroups = ownOperation({
  query: AssetGroupsQuery,
  async handle({ call, query: { status, limit, cursor }, userId }, { video: { assets } }) {
    const rows = await assets.listOwn(userId, 'asset_groups', { statuses: status }, { after: cursor?.[0], limit });
    sendPage(call, rows, { limit, view: (group) => assets.view('asset_groups', group), key: ({ id }) => [id] });
  },
});

export const listOwnAuthorizations = ownOperation({
  query: OwnAuthorizationsQuery,
  async handle({ call, query, userId }, { db }) {
    await sendAuthorizations(call, { ...query, account: undefined, user: userId }, { db, view: authorizationView });
  },
});
