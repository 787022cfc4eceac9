/** The admin API as functions: one per operation that the console uses. */
import type {
  AccountStats,
  AccountTest,
  AppliedConfig,
  CallbackTest,
  Hit,
  InvitedPerson,
  KeyWithValue,
  LoggedRequest,
  OpenSubmission,
  OperatorAsset,
  OperatorAuthorization,
  OperatorTask,
  OperatorUsagePage,
  Page,
  PriceImport,
  QuarantinedRecord,
  Review,
  SettingReport,
  ShownAccount,
  ShownAlarm,
  ShownAuditLine,
  ShownCallback,
  ShownCapture,
  ShownCharacter,
  ShownErasure,
  ShownExplanation,
  ShownGroup,
  ShownKey,
  ShownModel,
  ShownMovement,
  ShownPerson,
  ShownPrice,
  ShownQuote,
  ShownUser,
  Stats,
  WalletReport,
} from '../../../src/schemas/index.ts';
import { get, type Query, send } from './client.ts';
import { apiAt, type Body } from './paths.ts';
import { warningsAt } from './warnings.ts';

const { at, listOf } = apiAt('/admin/v1');

export const admin = {
  search: listOf<Hit>('/search'),
  requests: listOf<LoggedRequest>('/requests'),
  request: (id: string) => get<LoggedRequest>(at('/requests/{}', id)),
  capture: (id: string) => get<ShownCapture>(at('/requests/{}/capture', id)),
  stats: (query: Query) => get<Stats>(at('/stats'), query),
  accountStats: listOf<AccountStats>('/stats/accounts'),

  tasks: listOf<OperatorTask>('/tasks'),
  task: (id: string) => get<OperatorTask>(at('/tasks/{}', id)),
  assets: listOf<OperatorAsset>('/assets'),
  authorizations: listOf<OperatorAuthorization>('/authorizations'),
  callbacks: listOf<ShownCallback>('/callbacks'),
  callback: (id: string) => get<ShownCallback>(at('/callbacks/{}', id)),
  redeliver: (id: string, body: Body) => send<ShownCallback>('POST', at('/callbacks/{}/redeliver', id), { body }),
  testCallback: (body: Body) => send<CallbackTest>('POST', at('/callbacks/test'), { body }),

  groups: listOf<ShownGroup>('/groups'),
  accounts: listOf<ShownAccount>('/accounts'),
  account: (id: string) => get<ShownAccount>(at('/accounts/{}', id)),
  changeAccount: (id: string, body: Body) => send<ShownAccount>('PATCH', at('/accounts/{}', id), { body }),
  accountAction: (id: string, action: 'park' | 'resume' | 'drain', body: Body) =>
    send<ShownAccount>('POST', at(`/accounts/{}/${action}`, id), { body }),
  testAccount: (id: string, body: Body = {}) => send<AccountTest>('POST', at('/accounts/{}/test', id), { body }),
  models: listOf<ShownModel>('/models'),
  prices: listOf<ShownPrice>('/prices'),
  quote: (query: Query, signal?: AbortSignal) => get<ShownQuote>(at('/quote'), query, signal),
  explain: (query: Query, body?: object) =>
    send<ShownExplanation>('POST', at('/explain'), { query, isRead: true, ...(body && { body }) }),
  importPrices: (body: Body, query: Query = {}) => send<PriceImport>('POST', at('/prices/import'), { body, query }),
  /** A document that names only what is new or changed leaves everything else as it is. */
  applyConfig: (document: Body, query: Query = {}) =>
    send<AppliedConfig>('PUT', at('/config'), { body: document, query }),
  /** A document of new objects; one that exists is refused. */
  create: (document: Body) =>
    send<AppliedConfig>('PUT', at('/config'), { body: document, query: { create_only: 'true' } }),

  characters: listOf<ShownCharacter>('/characters'),
  createCharacter: (body: Body) => send<ShownCharacter>('POST', at('/characters'), { body }),
  changeCharacter: (id: string, body: Body) => send<ShownCharacter>('PATCH', at('/characters/{}', id), { body }),
  publishCharacter: (id: string, isPublic: boolean) =>
    send<ShownCharacter>('POST', at(`/characters/{}/${isPublic ? 'publish' : 'unpublish'}`, id), { body: {} }),
  uploadPreview: (id: string, data: string) =>
    send<ShownCharacter>('PUT', at('/characters/{}/preview', id), { body: { data } }),
  deleteCharacter: (id: string) => send<unknown>('DELETE', at('/characters/{}', id)),

  users: listOf<ShownUser>('/users'),
  createUser: (body: Body) => send<ShownUser>('POST', at('/users'), { body }),
  changeUser: (id: string, body: Body) => send<ShownUser>('PATCH', at('/users/{}', id), { body }),
  erasure: (id: string) => send<ShownErasure>('POST', at('/users/{}/erase', id), { body: {}, isRead: true }),
  eraseUser: (id: string, body: Body) => send<ShownErasure>('POST', at('/users/{}/erase', id), { body }),
  exportUser: (id: string) => at('/users/{}/export', id),
  balances: listOf<WalletReport>('/balances'),
  balance: (user: string) => get<WalletReport>(at('/users/{}/balance', user)),
  statement: (user: string, query: Query = {}) => get<Page<ShownMovement>>(at('/users/{}/statement', user), query),
  statementCsv: (user: string) => `${at('/users/{}/statement', user)}?format=csv`,
  credit: (body: Body) => send<unknown>('POST', at('/credits'), { body }),
  usage: (query: Query) => get<OperatorUsagePage>(at('/usage'), query),

  keys: listOf<ShownKey>('/keys'),
  key: (id: string) => get<ShownKey>(at('/keys/{}', id)),
  createKey: (body: Body) => send<KeyWithValue>('POST', at('/keys'), { body }),
  changeKey: (id: string, body: Body) => send<ShownKey>('PATCH', at('/keys/{}', id), { body }),
  rotateKey: (id: string, body: Body) => send<KeyWithValue>('POST', at('/keys/{}/rotate', id), { body }),
  revokeKey: (id: string, body: Body) => send<ShownKey>('POST', at('/keys/{}/revoke', id), { body }),
  captureKey: (id: string, hours: number) => send<ShownKey>('POST', at('/keys/{}/capture', id), { body: { hours } }),

  alarms: listOf<ShownAlarm>('/alarms'),
  audit: listOf<ShownAuditLine>('/audit'),
  reviews: listOf<Review>('/reviews'),
  settleReview: (task: string, body: Body) => send<unknown>('POST', at('/reviews/{}/settle', task), { body }),
  releaseReview: (task: string, body: Body) => send<unknown>('POST', at('/reviews/{}/release', task), { body }),
  submissions: listOf<OpenSubmission>('/submissions'),
  assignTask: (task: string, body: Body) => send<unknown>('POST', at('/submissions/{}/assign', task), { body }),
  dismissTask: (task: string, body: Body) => send<unknown>('POST', at('/submissions/{}/dismiss', task), { body }),
  quarantine: listOf<QuarantinedRecord>('/quarantine'),
  resolveRecord: (id: string, body: Body) => send<unknown>('POST', at('/quarantine/{}/resolve', id), { body }),
  dismissRecord: (id: string, body: Body) => send<unknown>('POST', at('/quarantine/{}/dismiss', id), { body }),

  people: listOf<ShownPerson>('/people'),
  invite: (body: Body) => send<InvitedPerson>('POST', at('/people'), { body }),
  changePerson: (id: string, body: Body) => send<ShownPerson>('PATCH', at('/people/{}', id), { body }),
  resetPerson: (id: string) => send<InvitedPerson>('POST', at('/people/{}/reset', id), { body: {} }),
  signOutPerson: (id: string) => send<ShownPerson>('POST', at('/people/{}/sign-out', id), { body: {} }),
  settings: listOf<SettingReport>('/settings'),
  warnings: warningsAt(at, listOf),
};
