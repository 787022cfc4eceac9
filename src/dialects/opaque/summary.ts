/**
 * Summaries that the gateway had a model write (`POST
 * /v1/responses/compact`): opaque to clients, text to every provider.
 */
import type { HubItem, HubRequest } from '../hub/types.ts';

/** Puts the text of summaries into the conversation. Forged ones must be removed before. */
export const openSummaries = (request: HubRequest): HubRequest =>
  request.items.some(isSummary) ? { ...request, items: request.items.map(openSummary) } : request;

const isSummary = (item: HubItem): boolean => item.kind === 'compaction' && item.opaque?.kind === 'summary';

const openSummary = (item: HubItem): HubItem =>
  item.kind === 'compaction' && item.opaque?.kind === 'summary'
    ? { kind: 'compaction', text: `${LEAD}\n\n${item.opaque.data}` }
    : item;

const LEAD = 'Summary of the conversation so far:';
