export { CREDENTIAL_HEADER, locate } from './account-url.ts';
export { type Exchange, type Trouble, Upstream, type UpstreamListener, type UpstreamRequest } from './client.ts';
export { fetchJson, type JsonAnswer } from './fetch-json.ts';
export { mimeOf } from './mime-sniff.ts';
export { PublicFetcher, type PublicFetcherOptions, type PublicRequest, type PublicResult } from './public-fetch.ts';
export { openSocket, type SocketListener, type SocketRequest, type UpstreamSocket } from './websocket.ts';
