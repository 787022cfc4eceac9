/** What the signed-in person's user keeps: files, batches, conversations, and objects at providers. */
import { z } from 'zod';
import { readFileRoom } from '../../gateway/index.ts';
import * as admin from '../admin/index.ts';
import { ownOperation } from './services.ts';

const ObjectsQuery = z.strictObject({ ...admin.objectFilters, ...admin.pageParams(admin.rowKey.timeAndId) });

export const OWN_OBJECTS = {
  'console.objects': ownOperation({
    query: ObjectsQuery,
    async handle({ call, query, userId }, { db }) {
      const more = { room: await readFileRoom(db, userId) };
      await admin.sendRows(call, db, { ...admin.ownObjects, more }, { ...query, user: userId });
    },
  }),
  'console.deleteObject': ownOperation({
    handle: ({ id, by, userId }, { db, gateway: { deleteAtProvider } }) =>
      admin.deleteObject({ db, deleteAtProvider }, { userId, id, by }),
  }),
};
