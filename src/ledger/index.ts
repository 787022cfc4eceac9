export type { Reservation } from './admission/wallet-leases.ts';
export {
  ALARMS,
  type Alarm,
  type AlarmName,
  type AlarmState,
  findAlarms,
  lookForAlarms,
  readAlarms,
} from './alarms.ts';
export { type OnStep, stepListener } from './crash-points.ts';
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
} from './pricing/rates.ts';
export { recordUsage } from './records/flusher.ts';
export { fenceSilent, retireReplica, type SilentReplica, silentReplicas } from './records/replica.ts';
export { type RetentionOptions, removeOldMonths, removeOldQuarantine } from './records/retention.ts';
export {
  type BreakdownRow,
  type BreakdownWish,
  breakdownQuery,
  DIMENSIONS,
  type Dimension,
  readBreakdown,
  usageColumns,
  usageLine,
} from './reports/usage-breakdown.ts';
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
} from './reports/usage-report.ts';
export { type MeteredUsage, newRecordId, type UsageRecord } from './usage-record.ts';
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
} from './wallets/wallets.ts';
