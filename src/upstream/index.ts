export { CREDENTIAL_HEADER, locate } from './endpoints.ts';
export { fetchJson, type JsonAnswer } from './fetch.ts';
export { type Exchange, type Trouble, Upstream, type UpstreamListener, type UpstreamRequest } from './http.ts';
export { PublicFetcher, type PublicFetcherOptions, type PublicRequest, type PublicResult } from './public.ts';
export { mimeOf } from './sniff.ts';
export { openSocket, type SocketListener, type SocketRequest, type UpstreamSocket } from './socket.ts';
