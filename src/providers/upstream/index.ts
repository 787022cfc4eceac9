export { credentialHeaders, locateUpstream } from './account-url.ts';
export {
  type TransportError,
  UpstreamClient,
  type UpstreamExchange,
  type UpstreamListener,
  type UpstreamRequest,
} from './client.ts';
export type { Machine } from './clouds/machine.ts';
export { fetchJson } from './fetch-json.ts';
export { openUpstreamSocket, type SocketRequest, type UpstreamSocket } from './websocket.ts';
