export { credentialHeaders, locateUpstream, type ReachedAccount } from './account-url.ts';
export * from './client.ts';
export type { Machine } from './clouds/cloud.ts';
export { openUpstreamSocket, type SocketRequest, type UpstreamSocket } from './websocket.ts';
