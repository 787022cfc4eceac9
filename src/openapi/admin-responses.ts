/** The successes of the admin API, by operation. */
import type { z } from 'zod';
import {
  AccountStats,
  AccountTest,
  AppliedConfig,
  CallbackTest,
  DAYS,
  DecidedSubmission,
  DeletedCharacter,
  InvitedPerson,
  KeyWithValue,
  LoggedRequest,
  OpenSubmission,
  OperatorAsset,
  OperatorAuthorization,
  OperatorTask,
  OperatorUsagePage,
  PriceImport,
  pageOf,
  QuarantinedRecord,
  Review,
  SettingReport,
  SettledReview,
  ShownAccount,
  ShownAlarm,
  ShownAuditLine,
  ShownCallback,
  ShownCharacter,
  ShownCredit,
  ShownGroup,
  ShownKey,
  ShownModel,
  ShownPerson,
  ShownPrice,
  ShownQuote,
  ShownRecord,
  ShownUser,
  Statement,
  Stats,
  USD,
  WalletReport,
} from '../objects/index.ts';
import type { AdminOperation } from '../rules/index.ts';

/** The description of a response and the schema of its body; `csv`: it is also offered as a file. */
export interface Success {
  readonly about: string;
  readonly body: z.ZodType;
  readonly csv?: true;
}
export type Successes = Readonly<Record<number, Success>>;

const ok = (about: string, body: z.ZodType): Successes => ({ 200: { about, body } });
const created = (about: string, body: z.ZodType): Successes => ({ 201: { about, body } });

const ACCOUNT = ok('The account in its new state', ShownAccount);
const CHARACTER = ok('The character', ShownCharacter);
const KEY = ok('The key', ShownKey);
const PERSON = ok('The person', ShownPerson);

export const STATEMENT: Successes = { 200: { about: 'A page of movements, newest first', body: Statement, csv: true } };

export const ADMIN_SUCCESSES: Readonly<Record<AdminOperation, Successes>> = {
  'admin.balances': ok('A page of balances by user', pageOf(WalletReport, USD)),
  'admin.balance': ok('The balance', WalletReport),
  'admin.credit': {
    ...ok('The reference is booked already, with the same content', ShownCredit),
    ...created('The booking', ShownCredit),
  },
  'admin.statement': STATEMENT,
  'admin.usage': { 200: { about: 'A page of usage', body: OperatorUsagePage, csv: true } },
  'admin.records': ok('A page of records, newest first', pageOf(ShownRecord, USD)),
  'admin.requests': ok('A page of calls, newest first', pageOf(LoggedRequest, USD)),
  'admin.request': ok('The call', LoggedRequest),
  'admin.stats': ok('The points in order of time, and their sum', Stats),
  'admin.accountStats': ok('The accounts in the order of the configuration', pageOf(AccountStats, { ...USD, ...DAYS })),
  'admin.quarantine': ok('A page of records, newest first', pageOf(QuarantinedRecord)),
  'admin.resolveRecord': ok('The charged record', QuarantinedRecord),
  'admin.dismissRecord': ok('The dismissed record', QuarantinedRecord),
  'admin.reviews': ok('A page of video tasks, oldest first', pageOf(Review, USD)),
  'admin.settleReview': ok('What was charged', SettledReview),
  'admin.releaseReview': ok('The hold is released', SettledReview),
  'admin.submissions': ok('A page of tasks with their candidates, oldest first', pageOf(OpenSubmission, USD)),
  'admin.assignTask': ok('The task is bound', DecidedSubmission),
  'admin.dismissTask': ok('The task has failed', DecidedSubmission),
  'admin.tasks': ok('A page of tasks, newest first', pageOf(OperatorTask, USD)),
  'admin.task': ok('The task', OperatorTask),
  'admin.assets': ok('A page of assets, newest first', pageOf(OperatorAsset)),
  'admin.authorizations': ok('A page of sessions, newest first', pageOf(OperatorAuthorization)),
  'admin.alarms': ok('Every alarm; those with a count above zero need an operator', pageOf(ShownAlarm)),
  'admin.audit': ok('A page of lines, newest first', pageOf(ShownAuditLine)),
  'admin.callbacks': ok('A page of callbacks, newest first', pageOf(ShownCallback)),
  'admin.callback': ok('The callback with its attempts', ShownCallback),
  'admin.redeliverCallback': { 202: { about: 'The callback, which is delivered again', body: ShownCallback } },
  'admin.testCallback': ok('The outcome, also of a failed delivery', CallbackTest),
  'admin.groups': ok('A page of groups, in the order of the configuration', pageOf(ShownGroup)),
  'admin.accounts': ok('A page of accounts, in the order of the configuration', pageOf(ShownAccount)),
  'admin.account': ok('The account', ShownAccount),
  'admin.changeAccount': ACCOUNT,
  'admin.parkAccount': ACCOUNT,
  'admin.drainAccount': ACCOUNT,
  'admin.resumeAccount': ACCOUNT,
  'admin.testAccount': ok('The outcome, also of a failed test', AccountTest),
  'admin.models': ok('A page of models, in the order of the configuration', pageOf(ShownModel)),
  'admin.prices': ok('A page of prices, newest first', pageOf(ShownPrice)),
  'admin.importPrices': ok('The plan, or what was applied', PriceImport),
  'admin.quote': ok('The charge and the cost; null where there is no price', ShownQuote),
  'admin.characters': ok('A page of characters', pageOf(ShownCharacter)),
  'admin.createCharacter': created('The character', ShownCharacter),
  'admin.changeCharacter': CHARACTER,
  'admin.publishCharacter': CHARACTER,
  'admin.unpublishCharacter': CHARACTER,
  'admin.uploadPreview': CHARACTER,
  'admin.deletePreview': CHARACTER,
  'admin.deleteCharacter': ok('It is deleted', DeletedCharacter),
  'admin.users': ok('A page of users by id', pageOf(ShownUser)),
  'admin.createUser': created('The user', ShownUser),
  'admin.changeUser': ok('The user', ShownUser),
  'admin.people': ok('A page of people', pageOf(ShownPerson)),
  'admin.invitePerson': created('The person with the one-time link', InvitedPerson),
  'admin.changePerson': PERSON,
  'admin.resetPerson': ok('The person with a new one-time link', InvitedPerson),
  'admin.signOutPerson': PERSON,
  'admin.keys': ok('A page of keys', pageOf(ShownKey)),
  'admin.key': KEY,
  'admin.createKey': created('The key with its value', KeyWithValue),
  'admin.changeKey': KEY,
  'admin.revokeKey': KEY,
  'admin.rotateKey': created('The new key with its value, and the old one', KeyWithValue),
  'admin.settings': ok('Every setting', pageOf(SettingReport)),
  'admin.applyConfig': ok('What changed, or would change', AppliedConfig),
};
