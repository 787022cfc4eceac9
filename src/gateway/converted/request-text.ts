/** Requests on their way between the event loop and the thread. Most are encoded as they were decoded, so that their text is kept. */
import { fromJsonText, type JsonText, toJsonText } from '../../core/index.ts';
import type { HubRequest } from '../../dialects/index.ts';

/** Long strings are not kept twice: they stand beside the text. */
const texts = new WeakMap<HubRequest, JsonText>();

export const textOfRequest = (request: HubRequest): JsonText => texts.get(request) ?? toJsonText(request);

export function requestOfText(json: JsonText): HubRequest {
  const request = fromJsonText(json) as HubRequest;
  texts.set(request, json);
  return request;
}
