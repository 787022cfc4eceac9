/** The Idempotency-Key header (V 8): valid UTF-8, 1 to 64 bytes, at most once per request. */
import { isUtf8 } from 'node:buffer';
import { fail } from '../../core/index.ts';
import type { Call } from '../../platform/web/index.ts';
import { IDEMPOTENCY } from '../../rules/index.ts';
import { hashIdempotencyKey } from './records.ts';

const NAME = 'idempotency-key';

/** Returns the hash of the key; undefined when the request has none. */
export function readIdempotencyKey(call: Pick<Call, 'request'>): Buffer | undefined {
  const { rawHeaders } = call.request;
  const values: string[] = [];
  for (let n = 0; n < rawHeaders.length; n += 2) if (rawHeaders[n] === NAME) values.push(rawHeaders[n + 1] ?? '');
  const [value] = values;
  if (value === undefined) return undefined;
  if (values.length > 1) throw invalid('sent more than once; send it once');
  // Header values are read byte by byte, so that their bytes are the characters' codes.
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length === 0 || bytes.length > IDEMPOTENCY.keyBytes)
    throw invalid(`has ${bytes.length} bytes; send 1 to ${IDEMPOTENCY.keyBytes}`);
  if (!isUtf8(bytes)) throw invalid('is not valid UTF-8');
  return hashIdempotencyKey(bytes);
}

const invalid = (problem: string) =>
  fail('invalid_request', `Idempotency-Key: ${problem}.`, { param: 'Idempotency-Key' });
