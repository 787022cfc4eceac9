/** Parsing of a body that is converted. Rejects JSON that is too deep or too large before parsing it, because that would block the event loop. */
import { isUtf8 } from 'node:buffer';
import { fail, JsonScanError, mayBeDeep, parseJson, scanMembers } from '../../core/index.ts';
import { isObject } from '../../dialects/index.ts';
import { JSON_LIMITS } from '../../rules/index.ts';

type Body = Readonly<Record<string, unknown>>;

export function parseBody(bytes: Buffer): Body {
  if (bytes.length === 0) throw fail('invalid_request', 'The body is empty; a JSON object is expected.');
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  try {
    return parseSmall(bytes, text) ?? parseScanned(bytes, text);
  } catch (error) {
    if (error instanceof JsonScanError) throw fail('invalid_request', error.message);
    if (error instanceof SyntaxError) throw fail('invalid_request', 'The body is not valid JSON.');
    throw error;
  }
}

function parseScanned(bytes: Buffer, text: string): Body {
  scanMembers(bytes, NONE, JSON_LIMITS);
  return parseJson(text, 'client') as Body;
}
const NONE: ReadonlySet<string> = new Set();

/**
 * Parses a body that is short and has too few brackets to be deep, as most have; the check takes a tenth of the time of the scan.
 * Undefined when the scan has to decide or to report what is wrong.
 */
function parseSmall(bytes: Buffer, text: string): Body | undefined {
  if (text.length > JSON_LIMITS.harmlessChars || !isUtf8(bytes) || mayBeDeep(text)) return undefined;
  try {
    const value = parseJson(text, 'client');
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
