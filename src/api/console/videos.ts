/** Video tasks and assets of the signed-in person's user. Their views are those of the caller's API. */
import { z } from 'zod';
import { ASSET_GROUP_STATUSES, ASSET_STATUSES, TASK_STATUSES } from '../../rules/index.ts';
import { holdsOfTasks } from '../../video/index.ts';
import * as admin from '../admin/index.ts';
import { ONLY_USER, ownOperation } from './services.ts';

/** Rows of tasks and assets are large. */
const MAX_PAGE = 100;

const pageOf = <const S extends string, F extends z.ZodRawShape>(statuses: readonly S[], filters: F) =>
  z.strictObject({
    user: admin.param.user,
    status: admin.listOf(statuses).optional(),
    ...filters,
    ...admin.pageParams(admin.rowKey.text, MAX_PAGE),
  });

const deliveryOf = (file: 'video' | 'last_frame') =>
  ownOperation({
    query: ONLY_USER,
    async handle({ id, call, userId }, { video }) {
      await video.deliverResult(call, await video.getTask({ userId }, id), file);
    },
  });

export const VIDEOS_OPERATIONS = {
  'console.tasks': ownOperation({
    query: pageOf(TASK_STATUSES, { model: admin.param.model }),
    async handle({ call, query: { status, model, limit, cursor }, userId }, { video, db }) {
      const filter = { userId, statuses: status, model };
      const rows = await video.listTasksAfter(filter, { after: cursor?.[0], limit, order: 'desc' });
      const ids = rows.map(({ id }) => id);
      const holds = await holdsOfTasks(db, userId, ids);
      const view = (task: (typeof rows)[number]) => ({ ...video.taskView(task), hold: holds.get(task.id) ?? null });
      admin.sendPage(call, rows, { limit, view, key: ({ id }) => [id] });
    },
  }),
  'console.task': ownOperation({
    query: ONLY_USER,
    async handle({ id, userId }, { video, db }) {
      const task = await video.getTask({ userId }, id);
      const holds = await holdsOfTasks(db, userId, [task.id]);
      return { ...video.taskView(task), hold: holds.get(task.id) ?? null };
    },
  }),
  'console.taskVideo': deliveryOf('video'),
  'console.taskLastFrame': deliveryOf('last_frame'),
  'console.assets': ownOperation({
    query: pageOf(ASSET_STATUSES, { group: admin.param.group }),
    async handle({ call, query: { status, group, limit, cursor }, userId }, { video: { assets } }) {
      const filter = { statuses: status, assetGroupId: group };
      const rows = await assets.listOwn(userId, 'assets', filter, { after: cursor?.[0], limit });
      admin.sendPage(call, rows, { limit, view: (asset) => assets.view('assets', asset), key: ({ id }) => [id] });
    },
  }),
  'console.assetGroups': ownOperation({
    query: pageOf(ASSET_GROUP_STATUSES, {}),
    async handle({ call, query: { status, limit, cursor }, userId }, { video: { assets } }) {
      const rows = await assets.listOwn(userId, 'asset_groups', { statuses: status }, { after: cursor?.[0], limit });
      admin.sendPage(call, rows, { limit, view: (group) => assets.view('asset_groups', group), key: ({ id }) => [id] });
    },
  }),
  'console.authorizations': ownOperation({
    query: admin.OwnAuthorizationsQuery,
    async handle({ call, query, userId }, { db }) {
      await admin.sendRows(call, db, admin.OWN_AUTHORIZATIONS, { ...query, user: userId });
    },
  }),
};
