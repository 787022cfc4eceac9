export type { Reservation } from './admission/wallet-leases.ts';
export {
  ALARMS,
  type Alarm,
  type AlarmName,
  type AlarmState,
  checkAlarms,
  findAlarms,
  readAlarms,
} from './alarms.ts';
export { type OnStep, stepListener } from './crash-points.ts';
export { type Metering, type MeteringOptions, type MeteringState, startMetering } from './metering.ts';
export {
  type Cost,
  costOf,
  maxCostOf,
  parseRates,
  type Rates,
  type RequestFacts,
  videoCostOf,
  videoRateOf,
} from './pricing/rates.ts';
export { recordUsage } from './records/flusher.ts';
export { fenceIfStale, removeReplica, type StaleReplica, staleReplicas } from './records/replica.ts';
export { type RetentionOptions, removeOldMonths, removeOldQuarantine } from './records/retention.ts';
export {
  type BreakdownQuery,
  type BreakdownRow,
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
  type WalletQuery,
  type WalletReport,
  walletReports,
} from './reports/usage-report.ts';
export { type MeteredUsage, newRecordId, type UsageRecord } from './usage-record.ts';
export {
  available,
  type Balance,
  charge,
  checkLedger,
  credit,
  type HoldInput,
  type HoldResult,
  type HouseAccount,
  hold,
  LedgerError,
  type Movement,
  release,
  review,
  type Settled,
  type StatementLine,
  type StatementQuery,
  settle,
  statement,
  statementPages,
} from './wallets/wallets.ts';
