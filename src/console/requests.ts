/**
 * The request log of the signed-in person's user, and the search in what is theirs. Shows what the caller could observe, and the charge: neither attempts with their
 * accounts and the words of providers, nor the model and dialect of the provider, nor costs.
 */
import { z } from 'zod';
import {
  chargeView,
  notFound,
  observedView,
  param,
  readQuery,
  requestParams,
  searchParams,
  sendHits,
  sendRequests,
} from '../admin/index.ts';
import { OWN_HIT_KINDS } from '../objects/index.ts';
import { personActor } from '../people/index.ts';
import { chargedRequest, findRequest, isCaptured, viewCapture } from '../requests/index.ts';
import { type Call, sendJson } from '../web/index.ts';
import type { ConsoleServices, Owner } from './services.ts';

const RequestsQuery = z.strictObject({ user: param.user, ...requestParams });

export async function listOwnRequests({ db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  const { user: _, ...query } = readQuery(call.query, RequestsQuery);
  await sendRequests(call, db, { ...query, owner: userId }, observedView);
}

const OneQuery = z.strictObject({ user: param.user });

/** With the charge of a background response, which the list does not have. */
export async function getOwnRequest({ db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  readQuery(call.query, OneQuery);
  const id = call.params.request ?? '';
  const row = await findRequest(db, id, userId);
  if (!row) throw notFound('request in the log', id);
  const charged = await chargedRequest(db, row);
  sendJson(call, 200, {
    object: 'request',
    currency: 'USD',
    ...observedView(row),
    ...(charged && chargeView(charged)),
    captured: await isCaptured(db, userId, id),
  });
}

export async function getOwnCapture(services: ConsoleServices, call: Call, { userId, session }: Owner): Promise<void> {
  const { db, secrets } = services;
  readQuery(call.query, OneQuery);
  const context = { by: personActor(call, session), owner: userId, sealer: secrets.sealer };
  sendJson(call, 200, await viewCapture(db, call.params.request ?? '', context));
}

const SearchQuery = z.strictObject({ user: param.user, ...searchParams(OWN_HIT_KINDS) });

export async function searchOwn({ db }: ConsoleServices, call: Call, { userId }: Owner): Promise<void> {
  const { text = '', kinds = OWN_HIT_KINDS, limit } = readQuery(call.query, SearchQuery);
  await sendHits(call, db, { text, kinds, limit, owner: userId });
}

export const REQUEST_SCHEMAS = {
  'console.search': { query: SearchQuery },
  'console.requests': { query: RequestsQuery },
  'console.request': { query: OneQuery },
  'console.capture': { query: OneQuery },
};
