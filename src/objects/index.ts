export {
  ACCOUNT_COLUMNS,
  ACCOUNT_SETTINGS,
  AccountChange,
  AccountEntry,
  type AccountState,
  AccountTest,
  ShownAccount,
  type ShownCooldown,
} from './account.ts';
export {
  AssetGroup,
  AuthorizationSession,
  CallerAsset,
  OperatorAsset,
  OperatorAuthorization,
  OwnAuthorization,
  type ReadAsset,
} from './asset.ts';
export { CallbackTest, ShownCallback, type ShownCallbackAttempt } from './callback.ts';
export {
  CHARACTER_COLUMNS,
  CharacterChange,
  DeletedCharacter,
  NewCharacter,
  ShownCharacter,
} from './character.ts';
export { columnsOf, membersOf } from './columns.ts';
export { AppliedConfig, type NameEffect, type ResolvedPrice, SetupFile } from './configuration.ts';
export { DAYS, type FieldNote, line, USD } from './field.ts';
export { type GroupStyle, ShownGroup } from './group.ts';
export { KeyChange, KeyWithValue, NewKey, OwnKey, ShownKey } from './key.ts';
export { type LimitsReport, mergeLimits, type ShownLimits, withoutLimits } from './limits.ts';
export { ShownModel } from './model.ts';
export { SettingReport, ShownAlarm, ShownAuditLine } from './operation.ts';
export { type Page, pageOf } from './page.ts';
export {
  InvitedPerson,
  NewPerson,
  PersonChange,
  personEmail,
  personName,
  ShownLink,
  ShownPerson,
  ShownSession,
} from './person.ts';
export { PriceImport, ShownPrice, type ShownRateChange, type ShownRates } from './price.ts';
export {
  type CallPrice,
  ERROR_SIDES,
  type ErrorSide,
  LoggedRequest,
  OwnRequest,
  type PricedCall,
  type PriceLine,
  type ProviderBill,
  type ReadRequest,
  type ShownAttempt,
  ShownQuote,
} from './request.ts';
export {
  AccountStats,
  type Percentiles,
  STATS_BUCKETS,
  STATS_GROUPINGS,
  Stats,
  type StatsBucket,
  type StatsGrouping,
  type StatsPoint,
  type StatsSums,
} from './stats.ts';
export {
  CallerTask,
  OperatorTask,
  type ReadTask,
  Review,
  SettledReview,
  shownTaskError,
  TaskEstimate,
  taskUsage,
} from './task.ts';
export {
  type BalanceReport,
  CallerUsage,
  DIMENSIONS,
  type Dimension,
  type OperatorMeasures,
  OperatorUsage,
  OperatorUsagePage,
  QuarantinedRecord,
  ShownRecord,
  type UsageCount,
  type UsagePeriod,
  type UsageReport,
  type UserMeasures,
  UserUsage,
  UserUsagePage,
} from './usage.ts';
export { Me, NewUser, ShownUser, UserChange } from './user.ts';
export { CREDIT_KINDS, type CreditKind, ShownCredit, ShownMovement, Statement, WalletReport } from './wallet.ts';
