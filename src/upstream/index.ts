export { credentialHeaders, locateUpstream } from './account-url.ts';
export {
  type TransportError,
  UpstreamClient,
  type UpstreamExchange,
  type UpstreamListener,
  type UpstreamRequest,
} from './client.ts';
export type { Machine } from './clouds/machine.ts';
export { type AttemptSummary, isDelivery, type SendResult, summaryOf, type Verdict, verdictOf } from './delivery.ts';
export { fetchJson } from './fetch-json.ts';
export { claimedMime, detectMime } from './mime-sniff.ts';
export type { ProxySettings } from './proxy-rules.ts';
export { type PostResult, PublicFetcher, type PublicFetcherOptions, type PublicResult } from './public-fetch.ts';
export { PublicGuard, type PublicGuardOptions } from './public-guard.ts';
export { callbackHeaders } from './webhook-signature.ts';
export { openUpstreamSocket, type SocketRequest, type UpstreamSocket } from './websocket.ts';
