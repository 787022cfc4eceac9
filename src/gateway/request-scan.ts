/** The first look at the body of a request: is it JSON, and within the limits of its operation. Nothing is parsed before. */
import { fail, JsonScanError, type Span, scanMembers } from '../core/index.ts';
import {
  type InferenceOperation,
  inferenceRow,
  JSON_LIMITS,
  REQUEST_JSON_LIMITS,
  REQUEST_LIMITS,
} from '../rules/index.ts';

/**
 * Larger bodies are scanned and converted in a thread. A body of this size with nothing but turns of one letter takes 30 ms, one of 64 kB as
 * agents send them 1 ms, and the way to the thread and back half a millisecond.
 */
export const LARGE_BODY_BYTES = 128 * 1024;

/** Spans of the wanted members. Throws what the client did wrong, with the member and its limit. */
export function scanRequest(
  body: Buffer,
  wanted: ReadonlySet<string>,
  operation?: InferenceOperation,
): Map<string, Span> {
  if (body.length === 0) throw fail('invalid_request', 'The body is empty; a JSON object is expected.');
  const isReply = operation === undefined || inferenceRow(operation).vectors !== true;
  const members = asJson(() => scanMembers(body, wanted, isReply ? REQUEST_JSON_LIMITS : JSON_LIMITS));
  if (isReply) rejectManyEnvelopes(body);
  return members;
}

/** The scan skips the content of long strings, so reading a member may still fail. */
export function asJson<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonScanError)
      throw fail('invalid_request', error.message, error.member === undefined ? {} : { param: error.member });
    if (error instanceof SyntaxError) throw fail('invalid_request', 'The body is not valid JSON.');
    throw error;
  }
}

/** How every opaque value of this gateway begins. */
const ENVELOPE = Buffer.from('"gw1.');
const TURNS = ['messages', 'input', 'contents'];

/** The signature of each would be checked. */
function rejectManyEnvelopes(body: Buffer): void {
  let count = 0;
  for (let at = body.indexOf(ENVELOPE); at >= 0; at = body.indexOf(ENVELOPE, at + ENVELOPE.length)) count += 1;
  if (count <= REQUEST_LIMITS.opaque) return;
  const member = TURNS.find((name) => body.includes(`"${name}"`)) ?? 'input';
  throw fail(
    'invalid_request',
    `${member}: the conversation has more than ${REQUEST_LIMITS.opaque} signatures of reasoning; leave out those of early turns.`,
    { param: member },
  );
}
