export type { Reservation } from './allowance.ts';
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
  settle,
  statement,
} from './ledger.ts';
export { type Metering, type MeteringOptions, startMetering } from './metering.ts';
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
export { retireReplica, type SilentReplica, silentReplicas } from './replica.ts';
export {
  balanceReport,
  type LimitsReport,
  limitsReport,
  periodOf,
  type StatementReport,
  statementReport,
  type UsageCount,
  type UsagePeriod,
  type UsageReport,
  usageReport,
} from './report.ts';
export { type MeteredUsage, newRecordId, type UsageRecord } from './usage.ts';
