export { type AccountStats, readAccountStats } from './account-stats.ts';
export { findRequest, listRequests, type RequestFilters, type RequestPage, type RequestRow } from './find-requests.ts';
export { type CallPrice, chargedRequest, pricedCall, priceOfRequest, providerBill } from './price-lines.ts';
export { ERROR_SIDES, type ErrorSide, type RequestEntry, requestEntry } from './request-entry.ts';
export { RequestLog } from './request-log.ts';
export { RequestMetrics } from './request-metrics.ts';
export {
  readRequestStats,
  STATS_BUCKETS,
  STATS_GROUPINGS,
  type StatsBucket,
  type StatsGrouping,
  type StatsPoint,
} from './request-stats.ts';
export { RequestWriter } from './request-writer.ts';
export { removeOldRequests, removeOldRollUps } from './retention.ts';
export { RequestRollUp } from './roll-up.ts';
export { openSpans, type SpanRecorder } from './spans.ts';
