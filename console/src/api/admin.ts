/** The admin API as functions: one per operation that the console uses. */
import { get, type Query, send } from './client.ts';
import { apiAt, type Body } from './paths.ts';
import type {
  Account,
  AccountStats,
  AccountTest,
  Alarm,
  Asset,
  AuditLine,
  Authorization,
  Balance,
  Callback,
  CallbackDetail,
  CallbackTest,
  Character,
  ConfigResult,
  Group,
  Key,
  List,
  Model,
  NewKey,
  PersonLink,
  PersonRow,
  Price,
  PriceImport,
  Quarantined,
  Quote,
  RequestDetail,
  RequestLine,
  Review,
  Setting,
  StatementLine,
  Stats,
  Task,
  UsageReport,
  User,
} from './types.ts';

const { at, listOf } = apiAt('/admin/v1');

export const admin = {
  requests: listOf<RequestLine>('/requests'),
  request: (id: string) => get<RequestDetail>(at('/requests/{}', id)),
  stats: (query: Query) => get<Stats>(at('/stats'), query),
  accountStats: listOf<AccountStats>('/stats/accounts'),

  tasks: listOf<Task>('/tasks'),
  task: (id: string) => get<Task>(at('/tasks/{}', id)),
  assets: listOf<Asset>('/assets'),
  authorizations: listOf<Authorization>('/authorizations'),
  callbacks: listOf<Callback>('/callbacks'),
  callback: (id: string) => get<CallbackDetail>(at('/callbacks/{}', id)),
  redeliver: (id: string, body: Body) => send<Callback>('POST', at('/callbacks/{}/redeliver', id), { body }),
  testCallback: (body: Body) => send<CallbackTest>('POST', at('/callbacks/test'), { body }),

  groups: listOf<Group>('/groups'),
  accounts: listOf<Account>('/accounts'),
  account: (id: string) => get<Account>(at('/accounts/{}', id)),
  changeAccount: (id: string, body: Body) => send<Account>('PATCH', at('/accounts/{}', id), { body }),
  accountAction: (id: string, action: 'park' | 'resume' | 'drain', body: Body) =>
    send<Account>('POST', at(`/accounts/{}/${action}`, id), { body }),
  testAccount: (id: string, body: Body = {}) => send<AccountTest>('POST', at('/accounts/{}/test', id), { body }),
  models: listOf<Model>('/models'),
  prices: listOf<Price>('/prices'),
  quote: (query: Query, signal?: AbortSignal) => get<Quote>(at('/quote'), query, signal),
  importPrices: (body: Body, query: Query = {}) => send<PriceImport>('POST', at('/prices/import'), { body, query }),
  /** A document that names only what is new or changed leaves everything else as it is. */
  applyConfig: (document: Body, query: Query = {}) =>
    send<ConfigResult>('PUT', at('/config'), { body: document, query }),

  characters: listOf<Character>('/characters'),
  createCharacter: (body: Body) => send<Character>('POST', at('/characters'), { body }),
  changeCharacter: (id: string, body: Body) => send<Character>('PATCH', at('/characters/{}', id), { body }),
  publishCharacter: (id: string, isPublic: boolean) =>
    send<Character>('POST', at(`/characters/{}/${isPublic ? 'publish' : 'unpublish'}`, id), { body: {} }),
  uploadPreview: (id: string, data: string) =>
    send<Character>('PUT', at('/characters/{}/preview', id), { body: { data } }),
  deleteCharacter: (id: string) => send<unknown>('DELETE', at('/characters/{}', id)),

  users: listOf<User>('/users'),
  createUser: (body: Body) => send<User>('POST', at('/users'), { body }),
  changeUser: (id: string, body: Body) => send<User>('PATCH', at('/users/{}', id), { body }),
  balances: listOf<Balance>('/balances'),
  balance: (user: string) => get<Balance>(at('/users/{}/balance', user)),
  statement: (user: string, query: Query = {}) => get<List<StatementLine>>(at('/users/{}/statement', user), query),
  statementCsv: (user: string) => `${at('/users/{}/statement', user)}?format=csv`,
  credit: (body: Body) => send<unknown>('POST', at('/credits'), { body }),
  usage: (query: Query) => get<UsageReport>(at('/usage'), query),

  keys: listOf<Key>('/keys'),
  key: (id: string) => get<Key>(at('/keys/{}', id)),
  createKey: (body: Body) => send<NewKey>('POST', at('/keys'), { body }),
  changeKey: (id: string, body: Body) => send<Key>('PATCH', at('/keys/{}', id), { body }),
  rotateKey: (id: string, body: Body) => send<NewKey>('POST', at('/keys/{}/rotate', id), { body }),
  revokeKey: (id: string, body: Body) => send<Key>('POST', at('/keys/{}/revoke', id), { body }),

  alarms: listOf<Alarm>('/alarms'),
  audit: listOf<AuditLine>('/audit'),
  reviews: listOf<Review>('/reviews'),
  settleReview: (task: string, body: Body) => send<unknown>('POST', at('/reviews/{}/settle', task), { body }),
  releaseReview: (task: string, body: Body) => send<unknown>('POST', at('/reviews/{}/release', task), { body }),
  quarantine: listOf<Quarantined>('/quarantine'),
  resolveRecord: (id: string, body: Body) => send<unknown>('POST', at('/quarantine/{}/resolve', id), { body }),
  dismissRecord: (id: string, body: Body) => send<unknown>('POST', at('/quarantine/{}/dismiss', id), { body }),

  people: listOf<PersonRow>('/people'),
  invite: (body: Body) => send<PersonLink>('POST', at('/people'), { body }),
  changePerson: (id: string, body: Body) => send<PersonRow>('PATCH', at('/people/{}', id), { body }),
  resetPerson: (id: string) => send<PersonLink>('POST', at('/people/{}/reset', id), { body: {} }),
  signOutPerson: (id: string) => send<PersonRow>('POST', at('/people/{}/sign-out', id), { body: {} }),
  settings: listOf<Setting>('/settings'),
};
