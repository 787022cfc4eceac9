/** Parsing of a body that is converted. Rejects JSON that is too deep or too large before parsing it, because that would block the event loop. */
import { isUtf8 } from 'node:buffer';
import { fail, mayBeDeep, parseJson, type StepBudget } from '../../core/index.ts';
import { isObject } from '../../dialects/index.ts';
import { JSON_LIMITS } from '../../rules/index.ts';
import { asJson, measureRequest } from '../request-scan.ts';

export type JsonBody = Readonly<Record<string, unknown>>;

export function parseBody(bytes: Buffer, steps: StepBudget, isLight = false): JsonBody {
  if (bytes.length === 0) throw fail('invalid_request', 'The body is empty; a JSON object is expected.');
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  return asJson(() => parseSmall(bytes, text) ?? parseScanned(bytes, text, { steps, isLight }));
}

function parseScanned(bytes: Buffer, text: string, options: { steps: StepBudget; isLight: boolean }): JsonBody {
  const { isPlain } = measureRequest(bytes, NONE, options);
  // Nothing of it needs exact values.
  return (isPlain ? JSON.parse(text) : parseJson(text, 'client')) as JsonBody;
}
const NONE: ReadonlySet<string> = new Set();

/**
 * Parses a body that is short and has too few brackets to be deep, as most have; the check takes a tenth of the time of the scan.
 * Undefined when the scan has to decide or to report what is wrong.
 */
function parseSmall(bytes: Buffer, text: string): JsonBody | undefined {
  if (text.length > JSON_LIMITS.harmlessChars || !isUtf8(bytes) || mayBeDeep(text)) return undefined;
  try {
    const value = parseJson(text, 'client');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
