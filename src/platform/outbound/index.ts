export { type AttemptSummary, isDelivery, type SendResult, summaryOf, type Verdict, verdictOf } from './delivery.ts';
export { claimedMime, detectMime } from './mime-sniff.ts';
export { ProxyRules, type ProxySettings } from './proxy-rules.ts';
export { type PostResult, PublicFetcher, type PublicFetcherOptions, type PublicResult } from './public-fetch.ts';
export { PublicGuard, type PublicGuardOptions } from './public-guard.ts';
export { callbackHeaders } from './webhook-signature.ts';
