/**
 * Clients that callers use, and the lines that point each at the gateway, in the console and docs/guides. What a key
 * can serve follows from the matrix.
 */
import { INFERENCE_ENDPOINTS } from '../../src/rules/endpoints.ts';
import { STYLES, type Style } from '../../src/rules/groups.ts';
import { AGENT_CLIENTS } from './agents.ts';
import type { ClientRow } from './client.ts';
import { CURL_CLIENT } from './curl.ts';
import { FRAMEWORK_CLIENTS } from './frameworks.ts';
import { SDK_CLIENTS } from './sdks.ts';

export type { ClientInput, ClientRow } from './client.ts';

export const CLIENTS = { curl: CURL_CLIENT, ...AGENT_CLIENTS, ...SDK_CLIENTS, ...FRAMEWORK_CLIENTS } as const;

export type ClientId = keyof typeof CLIENTS;

/** Styles whose keys serve the client. */
export const stylesOf = ({ operation }: ClientRow): Style[] =>
  STYLES.filter((style) => operation === undefined || INFERENCE_ENDPOINTS[operation].groups[style].kind !== 'refuse');
