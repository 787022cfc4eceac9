/**
 * Bodies of requests that are converted: parsed within the limits of JSON,
 * and as text on the way between the event loop and the thread.
 */
import { isUtf8 } from 'node:buffer';
import * as core from '../../core/index.ts';
import { type HubRequest, isObject } from '../../dialects/index.ts';
import { JSON_LIMITS } from '../../rules/index.ts';
import { asJson, measureRequest } from '../request-scan.ts';

export type JsonBody = Readonly<Record<string, unknown>>;

export function parseBody(bytes: Buffer, steps: core.StepBudget, isLight = false): JsonBody {
  if (bytes.length === 0) throw core.fail('invalid_request', 'The body is empty; a JSON object is expected.');
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  return asJson(() => parseSmall(bytes, text) ?? parseScanned(bytes, text, { steps, isLight }));
}

function parseScanned(bytes: Buffer, text: string, options: { steps: core.StepBudget; isLight: boolean }): JsonBody {
  const { isPlain } = measureRequest(bytes, core.NO_MEMBERS, options);
  // Nothing of it needs exact values.
  return (isPlain ? JSON.parse(text) : core.parseJson(text, 'client')) as JsonBody;
}

/**
 * Parses a short body with too few brackets to be deep, at a tenth of the scan's time.
 * Undefined when the scan has to decide.
 */
function parseSmall(bytes: Buffer, text: string): JsonBody | undefined {
  if (text.length > JSON_LIMITS.harmlessChars || !isUtf8(bytes) || core.mayBeDeep(text)) return undefined;
  try {
    const value = core.parseJson(text, 'client');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Long strings are not kept twice: they stand beside the text. */
const texts = new WeakMap<HubRequest, core.PackedJson>();

export const textOfRequest = (request: HubRequest): core.PackedJson => texts.get(request) ?? core.packJson(request);

export function requestOfText(json: core.PackedJson): HubRequest {
  const request = core.unpackJson(json) as HubRequest;
  texts.set(request, json);
  return request;
}
