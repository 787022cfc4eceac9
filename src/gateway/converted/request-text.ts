/** Requests on their way between the event loop and the thread. Most are encoded as they were decoded, so that their text is kept. */
import { type PackedJson, packJson, unpackJson } from '../../core/index.ts';
import type { HubRequest } from '../../dialects/index.ts';

/** Long strings are not kept twice: they stand beside the text. */
const texts = new WeakMap<HubRequest, PackedJson>();

export const textOfRequest = (request: HubRequest): PackedJson => texts.get(request) ?? packJson(request);

export function requestOfText(json: PackedJson): HubRequest {
  const request = unpackJson(json) as HubRequest;
  texts.set(request, json);
  return request;
}
