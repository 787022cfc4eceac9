export { CREDENTIAL_HEADER, locate } from './endpoints.ts';
export { fetchJson, type JsonAnswer } from './fetch.ts';
export { type Exchange, type Trouble, Upstream, type UpstreamListener, type UpstreamRequest } from './http.ts';
