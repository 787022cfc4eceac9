export {
  ALARMS,
  type Alarm,
  type AlarmName,
  type AlarmState,
  findAlarms,
  lookForAlarms,
  readAlarms,
} from './alarms.ts';
export type { Reservation } from './allowance.ts';
export {
  type BreakdownRow,
  type BreakdownWish,
  breakdownQuery,
  DIMENSIONS,
  type Dimension,
  readBreakdown,
  usageColumns,
  usageLine,
} from './breakdown.ts';
export { recordUsage } from './flush.ts';
export {
  available,
  type Balance,
  charge,
  checkLedger,
  credit,
  type HoldResult,
  type HoldWish,
  type HouseAccount,
  hold,
  LedgerError,
  type Movement,
  release,
  review,
  type Settled,
  type StatementLine,
  type StatementWish,
  settle,
  statement,
  statementPages,
} from './ledger.ts';
export { type Metering, type MeteringOptions, type MeteringState, startMetering } from './metering.ts';
export {
  boundOf,
  type Cost,
  costOf,
  parseRates,
  type Rates,
  type RequestFacts,
  videoCostOf,
  videoRateOf,
} from './price.ts';
export { fenceSilent, retireReplica, type SilentReplica, silentReplicas } from './replica.ts';
export {
  balanceReport,
  type LimitsReport,
  limitsReport,
  periodOf,
  type UsageCount,
  type UsagePeriod,
  type UsageReport,
  usageReport,
  type WalletReport,
  type WalletWish,
  walletReports,
} from './report.ts';
export { type RetentionOptions, removeOldMonths, removeOldQuarantine } from './retention.ts';
export { type OnStep, stepListener } from './step.ts';
export { type MeteredUsage, newRecordId, type UsageRecord } from './usage.ts';
