/**
 * The request log of the signed-in person's user, and the search in what is theirs. Shows what the caller could
 * observe, and the charge: neither attempts with their accounts and the words of providers, nor the model and dialect
 * of the provider, nor costs.
 */
import { z } from 'zod';
import { notFound } from '../../core/index.ts';
import { chargedRequest, findRequest, isCaptured, viewCapture } from '../../observe/request-log/index.ts';
import { OWN_HIT_KINDS } from '../../schemas/index.ts';
import * as admin from '../admin/index.ts';
import { ONLY_USER, ownOperation } from './services.ts';

export const OWN_REQUESTS = {
  'console.requests': ownOperation({
    query: z.strictObject({ user: admin.param.user, ...admin.requestParams }),
    async handle({ call, query, userId }, { db }) {
      const { user: _, ...filter } = query;
      await admin.sendRequests(call, db, { ...filter, owner: userId }, admin.observedView);
    },
  }),
  /** With the charge of a background response, which the list does not have. */
  'console.request': ownOperation({
    query: ONLY_USER,
    async handle({ id, userId }, { db }) {
      const row = await findRequest(db, id, userId);
      if (!row) throw notFound('request in the log', id);
      const charged = await chargedRequest(db, row);
      return {
        object: 'request',
        currency: 'USD',
        ...admin.observedView(row),
        ...(charged && admin.chargeView(charged)),
        captured: await isCaptured(db, userId, id),
      };
    },
  }),
  'console.capture': ownOperation({
    query: ONLY_USER,
    handle: ({ id, by, userId }, { db, secrets }) => viewCapture(db, id, { by, owner: userId, sealer: secrets.sealer }),
  }),
  'console.search': ownOperation({
    query: z.strictObject({ user: admin.param.user, ...admin.searchParams(OWN_HIT_KINDS) }),
    async handle({ call, query: { text = '', kinds = OWN_HIT_KINDS, limit }, userId }, { db }) {
      await admin.sendHits(call, db, { text, kinds, limit, owner: userId });
    },
  }),
};
