export { holdOnceCovered } from './admission/covered-hold.ts';
export { InsufficientBalance } from './admission/insufficient-balance.ts';
export { SPEND_SERVICES, SpendBook, type SpendEndNotice } from './admission/primary-spend.ts';
export type { SpendQuestion } from './admission/spend-counts.ts';
export type { Reservation } from './admission/wallet-state.ts';
export {
  ALARMS,
  type Alarm,
  type AlarmFinder,
  type AlarmName,
  type AlarmState,
  alarm,
  checkAlarms,
  findAlarms,
  LEDGER_CHECKS,
  readAlarms,
} from './alarms.ts';
export { crashPoint, crashPointAfter } from './crash-points.ts';
export { Metering, type MeteringOptions, type MeteringState } from './metering.ts';
export { parseRates, type Rates } from './pricing/parse-rates.ts';
export { providerCosts } from './pricing/provider-cost.ts';
export {
  type Cost,
  type CostPart,
  costOf,
  maxCostOf,
  type RequestFacts,
  videoCost,
  videoCostOf,
  videoRateOf,
} from './pricing/rates.ts';
export { isOfRequest, recordOfRequest } from './records/of-request.ts';
export { fenceIfStale, removeReplica, staleReplicas } from './records/replica.ts';
export { recordResolved } from './records/resolved-record.ts';
export { removeOldMonths, removeOldQuarantine } from './records/retention.ts';
export { packUsage, USAGE_COLUMNS, unpackUsage } from './records/stored-usage.ts';
export { sumOldDays } from './records/usage-totals.ts';
export { recordUsage } from './records/usage-writer.ts';
export { keyAllowance, keySpending } from './reports/key-spending.ts';
export {
  type BreakdownQuery,
  type BreakdownRow,
  breakdownQuery,
  readBreakdown,
  SORTED_MEASURES,
  type SortedMeasure,
  type UsageAudience,
  usageCells,
  usageColumns,
  usageLine,
} from './reports/usage-breakdown.ts';
export { sumOldMonths } from './reports/usage-months.ts';
export { balanceReport, limitsReport, periodOf, usageReport, walletReports } from './reports/usage-report.ts';
export { createUsageRecord, isCount, type MeteredUsage, newRecordId, type UsageRecord } from './usage-record.ts';
export { checkLedger } from './wallets/check.ts';
export { checkAllEntries } from './wallets/recheck.ts';
export { readStatement, readStatementPages, type StatementLine } from './wallets/statement.ts';
export { charge, credit, type HouseAccount, hold, readBalance, release, review, settle } from './wallets/wallets.ts';
