/**
 * The admin API in the reference: queries and bodies from the schemas of its operations, responses from a table by
 * operation.
 */
import type { z } from 'zod';
import { type AdminOperation, adminRow, type ErrorCode, UNCHANGED_HEADER } from '../../src/rules/index.ts';
import { ADMIN_SUCCESSES } from './admin-responses.ts';
import { errorResponses } from './errors.ts';
import type { OperationDescription } from './inference.ts';
import { OPERATION_ERRORS } from './operation-errors.ts';
import { queryParameters, requestBodyOf, successesOf } from './zod.ts';

export interface AdminRequestSchemas {
  readonly query: z.ZodObject;
  readonly body?: z.ZodType | undefined;
  readonly bodyTypes?: readonly string[] | undefined;
}

const REASON = { reason: 'checked with the provider' };
const CHARACTER = {
  id: 'presenter',
  group: 'ep',
  models: ['demo-video-2-0-*'],
  upstream_asset: 'asset-20260224200602-qn7wr',
  name: 'Studio presenter',
  tags: ['studio'],
} as const;

/** Bodies that are valid as they are; objects that they name have the ids of the demo where it has them. */
const EXAMPLES: Readonly<Partial<Record<AdminOperation, object>>> = {
  'admin.credit': { user: 'demo', amount: '12.50', reason: 'invoice 2030-17', reference: 'invoice-2030-17' },
  'admin.resolveRecord': { amount: '0.012', ...REASON },
  'admin.dismissRecord': REASON,
  'admin.settleReview': { tokens: 108_000, ...REASON },
  'admin.releaseReview': REASON,
  'admin.assignTask': { upstream_task: 'cgt-20300131093000-7hq2b', ...REASON },
  'admin.dismissTask': REASON,
  'admin.redeliverCallback': { reason: 'the receiver was down' },
  'admin.testCallback': { user: 'demo', task: 'task_7Hq2bVxN4sKd9wRtYc3mZp' },
  'admin.parkAccount': { reason: 'maintenance' },
  'admin.drainAccount': { reason: 'maintenance' },
  'admin.resumeAccount': { reason: 'maintenance is over' },
  'admin.testAccount': { model: 'demo-messages' },
  'admin.createCharacter': { ...CHARACTER, licence: 'internal use' },
  'admin.changeCharacter': { name: 'News presenter', tags: ['studio', 'news'] },
  'admin.publishCharacter': {},
  'admin.unpublishCharacter': {},
  'admin.uploadPreview': { data: 'iVBORw0KGgoAAAANSUhEUg==' },
  'admin.createUser': { id: 'ana', email: 'ana@example.com', rpm: 600, spend_month: '100' },
  'admin.changeUser': { rpm: 1_200, spend_month: null },
  'admin.eraseUser': { dry_run: true },
  'admin.invitePerson': { email: 'ana@example.com', role: 'user', user: 'demo' },
  'admin.changePerson': { disabled: true },
  'admin.resetPerson': {},
  'admin.signOutPerson': {},
  'admin.changeAccount': { weight: 2, state: 'in_use' },
  'admin.importPrices': { group: 'messages' },
  'admin.createKey': { user: 'demo', group: 'messages', name: 'ci', rpm: 100, models: ['demo-*'] },
  'admin.changeKey': { rpm: 200, expires_at: '2090-01-31T00:00:00Z' },
  'admin.revokeKey': { reason: 'lost' },
  'admin.rotateKey': { overlap_seconds: 3_600 },
  'admin.applyConfig': {
    users: [{ id: 'ana', balance: '10' }],
    keys: [{ user: 'ana', group: 'messages', name: 'ci' }],
  },
};

const CHANGE_HEADERS = [
  ['Idempotency-Key', 'a repetition with the same key gets the first reply for a day, and changes nothing'],
  [UNCHANGED_HEADER, 'JSON of members and the values that were read; 409 when one has another value now'],
].map(([name, description]) => ({ name, in: 'header', required: false, description, schema: { type: 'string' } }));

export function describeAdmin(
  operation: AdminOperation,
  { query, body, bodyTypes }: AdminRequestSchemas,
): OperationDescription {
  const { method, path } = adminRow(operation);
  const { every, operator, query: inQuery, body: inBody, object, change } = OPERATION_ERRORS;
  const codes: ErrorCode[] = [
    ...every,
    ...operator,
    ...inQuery,
    ...(body ? inBody : []),
    ...(path.includes('{') || body ? object : []),
    ...(method === 'GET' ? [] : change),
  ];
  return {
    parameters: [...queryParameters(query), ...(method === 'GET' ? [] : CHANGE_HEADERS)],
    ...(body && { requestBody: requestBodyOf(body, EXAMPLES[operation], bodyTypes) }),
    responses: { ...successesOf(ADMIN_SUCCESSES[operation]), ...errorResponses('openai', codes) },
  };
}
