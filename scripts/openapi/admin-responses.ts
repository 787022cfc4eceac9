/** The successes of the admin API, by operation. */
import type { z } from 'zod';
import type { AdminOperation } from '../../src/rules/index.ts';
import * as schemas from '../../src/schemas/index.ts';

/** The description of a response and the schema of its body; `csv`: it is also offered as a file. */
export interface Success {
  readonly about: string;
  readonly body: z.ZodType;
  readonly csv?: true;
  /** Of the body; JSON by default. */
  readonly type?: string;
}
export type Successes = Readonly<Record<number, Success>>;

export const ok = (about: string, body: z.ZodType): Successes => ({ 200: { about, body } });
export const created = (about: string, body: z.ZodType): Successes => ({ 201: { about, body } });

const ACCOUNT = ok('The account in its new state', schemas.ShownAccount);
const CHARACTER = ok('The character', schemas.ShownCharacter);
const KEY = ok('The key', schemas.ShownKey);
const PERSON = ok('The person', schemas.ShownPerson);

export const STATEMENT: Successes = {
  200: { about: 'A page of movements, newest first', body: schemas.Statement, csv: true },
};

export const EXPORT: Successes = {
  200: { about: 'A line for each object', body: schemas.ExportedLine, type: 'application/x-ndjson' },
};

export const ADMIN_SUCCESSES: Readonly<Record<AdminOperation, Successes>> = {
  'admin.balances': ok('A page of balances by user', schemas.pageOf(schemas.WalletReport, schemas.USD)),
  'admin.balance': ok('The balance', schemas.WalletReport),
  'admin.credit': {
    ...ok('The reference is booked already, with the same content', schemas.ShownCredit),
    ...created('The booking', schemas.ShownCredit),
  },
  'admin.statement': STATEMENT,
  'admin.usage': { 200: { about: 'A page of usage', body: schemas.OperatorUsagePage, csv: true } },
  'admin.records': ok('A page of records, newest first', schemas.pageOf(schemas.ShownRecord, schemas.USD)),
  'admin.search': ok('What was found, by kind', schemas.pageOf(schemas.Hit)),
  'admin.requests': ok('A page of calls, newest first', schemas.pageOf(schemas.LoggedRequest, schemas.REQUEST_PAGE)),
  'admin.request': ok('The call', schemas.LoggedRequest),
  'admin.capture': ok('The bodies', schemas.ShownCapture),
  'admin.stats': ok('The points in order of time, and their sum', schemas.Stats),
  'admin.accountStats': ok(
    'The accounts in the order of the configuration',
    schemas.pageOf(schemas.AccountStats, { ...schemas.USD, ...schemas.DAYS }),
  ),
  'admin.quarantine': ok('A page of records, newest first', schemas.pageOf(schemas.QuarantinedRecord)),
  'admin.resolveRecord': ok('The charged record', schemas.QuarantinedRecord),
  'admin.dismissRecord': ok('The dismissed record', schemas.QuarantinedRecord),
  'admin.reviews': ok('A page of video tasks, oldest first', schemas.pageOf(schemas.Review, schemas.USD)),
  'admin.settleReview': ok('What was charged', schemas.SettledReview),
  'admin.releaseReview': ok('The hold is released', schemas.SettledReview),
  'admin.submissions': ok(
    'A page of tasks with their candidates, oldest first',
    schemas.pageOf(schemas.OpenSubmission, schemas.USD),
  ),
  'admin.assignTask': ok('The task is bound', schemas.DecidedSubmission),
  'admin.dismissTask': ok('The task has failed', schemas.DecidedSubmission),
  'admin.tasks': ok('A page of tasks, newest first', schemas.pageOf(schemas.OperatorTask, schemas.USD)),
  'admin.task': ok('The task', schemas.OperatorTask),
  'admin.assets': ok('A page of assets, newest first', schemas.pageOf(schemas.OperatorAsset)),
  'admin.authorizations': ok('A page of sessions, newest first', schemas.pageOf(schemas.OperatorAuthorization)),
  'admin.objects': ok('A page of objects, newest first', schemas.pageOf(schemas.OperatorObject)),
  'admin.deleteObject': ok('It is deleted', schemas.DeletedObject),
  'admin.alarms': ok('Every alarm; those with a count above zero need an operator', schemas.pageOf(schemas.ShownAlarm)),
  'admin.audit': ok('A page of lines, newest first', schemas.pageOf(schemas.ShownAuditLine)),
  'admin.callbacks': ok('A page of callbacks, newest first', schemas.pageOf(schemas.ShownCallback)),
  'admin.callback': ok('The callback with its attempts', schemas.ShownCallback),
  'admin.redeliverCallback': { 202: { about: 'The callback, which is delivered again', body: schemas.ShownCallback } },
  'admin.testCallback': ok('The outcome, also of a failed delivery', schemas.CallbackTest),
  'admin.groups': ok('A page of groups, in the order of the configuration', schemas.pageOf(schemas.ShownGroup)),
  'admin.accounts': ok('A page of accounts, in the order of the configuration', schemas.pageOf(schemas.ShownAccount)),
  'admin.account': ok('The account', schemas.ShownAccount),
  'admin.changeAccount': ACCOUNT,
  'admin.parkAccount': ACCOUNT,
  'admin.drainAccount': ACCOUNT,
  'admin.resumeAccount': ACCOUNT,
  'admin.testAccount': ok('The outcome, also of a failed test', schemas.AccountTest),
  'admin.models': ok('A page of models, in the order of the configuration', schemas.pageOf(schemas.ShownModel)),
  'admin.prices': ok('A page of prices, newest first', schemas.pageOf(schemas.ShownPrice)),
  'admin.importPrices': ok('The plan, or what was applied', schemas.PriceImport),
  'admin.quote': ok('The charge and the cost; null where there is no price', schemas.ShownQuote),
  'admin.explain': ok('The plan', schemas.ShownExplanation),
  'admin.characters': ok('A page of characters', schemas.pageOf(schemas.ShownCharacter)),
  'admin.createCharacter': created('The character', schemas.ShownCharacter),
  'admin.changeCharacter': CHARACTER,
  'admin.publishCharacter': CHARACTER,
  'admin.unpublishCharacter': CHARACTER,
  'admin.uploadPreview': CHARACTER,
  'admin.deletePreview': CHARACTER,
  'admin.deleteCharacter': ok('It is deleted', schemas.DeletedCharacter),
  'admin.users': ok('A page of users by id', schemas.pageOf(schemas.ShownUser)),
  'admin.createUser': created('The user', schemas.ShownUser),
  'admin.changeUser': ok('The user', schemas.ShownUser),
  'admin.eraseUser': ok('How far the erasure is', schemas.ShownErasure),
  'admin.exportUser': EXPORT,
  'admin.people': ok('A page of people', schemas.pageOf(schemas.ShownPerson)),
  'admin.invitePerson': created('The person with the one-time link', schemas.InvitedPerson),
  'admin.changePerson': PERSON,
  'admin.resetPerson': ok('The person with a new one-time link', schemas.InvitedPerson),
  'admin.signOutPerson': PERSON,
  'admin.keys': ok('A page of keys', schemas.pageOf(schemas.ShownKey)),
  'admin.key': KEY,
  'admin.createKey': created('The key with its value', schemas.KeyWithValue),
  'admin.changeKey': KEY,
  'admin.revokeKey': KEY,
  'admin.captureKey': KEY,
  'admin.rotateKey': created('The new key with its value, and the old one', schemas.KeyWithValue),
  'admin.warnings': ok('Every warning', schemas.pageOf(schemas.ShownWarning)),
  'admin.createWarning': created('The warning', schemas.ShownWarning),
  'admin.changeWarning': ok('The warning', schemas.ShownWarning),
  'admin.deleteWarning': ok('It is deleted', schemas.DeletedWarning),
  'admin.destinations': ok('Every destination', schemas.pageOf(schemas.ShownDestination, schemas.MAIL)),
  'admin.createDestination': created('The destination, with the secret of a webhook', schemas.ShownDestination),
  'admin.changeDestination': ok('The destination', schemas.ShownDestination),
  'admin.deleteDestination': ok('It is deleted', schemas.DeletedWarning),
  'admin.testDestination': ok('The outcome, also of a failed delivery', schemas.DestinationTest),
  'admin.notices': ok('A page of notices, newest first', schemas.pageOf(schemas.ShownNotice)),
  'admin.settings': ok('Every setting', schemas.pageOf(schemas.SettingReport)),
  'admin.applyConfig': ok('What changed, or would change', schemas.AppliedConfig),
};
