export { readAccountStats } from './account-stats.ts';
export { CaptureLog } from './capture-log.ts';
export { captureKey, expireCaptures, isCaptured, viewCapture } from './captures.ts';
export {
  findRequest,
  listRequests,
  pageKeyOf,
  REQUEST_SORTS,
  type RequestFilters,
  type RequestPage,
  type RequestRow,
  SEARCHED_ROWS,
} from './find-requests.ts';
export { chargedRequest, chargeOfRecord, pricedCall, priceOfRequest, providerBill } from './price-lines.ts';
export { Refusals } from './refusals.ts';
export { isOfNobody, type RequestEntry, requestEntry } from './request-entry.ts';
export { RequestLog } from './request-log.ts';
export { RequestMetrics } from './request-metrics.ts';
export { readRequestStats } from './request-stats.ts';
export { RequestWriter, shownAttempts } from './request-writer.ts';
export { removeOldRequests, removeOldRollUps } from './retention.ts';
export { RequestRollUp } from './roll-up.ts';
export { openSpans, type SpanRecorder } from './spans.ts';
