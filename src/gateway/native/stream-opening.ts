/**
 * The first event of a native stream, held back: an error there is a failed attempt,
 * as an error status is, and another account may succeed.
 */
import type { Secrets } from '../../catalog/index.ts';
import { blockData, blocksOf, lastBlockEnd } from '../../core/index.ts';
import { codecOf, type Fault } from '../../dialects/index.ts';
import { type Dialect, faultRow } from '../../rules/index.ts';
import { faultKindOf, withoutSecrets } from '../client-error.ts';

/** A first event that is longer is passed on as it comes. */
const MAX_HELD_BYTES = 64 * 1024;
/**
 * In the beginning of an event; only then it is parsed.
 * The responses dialect writes `"error": null` into every response.
 */
const SUSPECT = /"error"\s*:\s*[{"]|(?:event|"type")\s*:\s*"?(?:error|response\.failed)/;
const SUSPECT_BYTES = 512;
const DATA_FIELD = Buffer.from('data:');
const EMPTY = Buffer.alloc(0);

export class StreamOpening {
  readonly #dialect: Dialect;
  readonly #secrets: Secrets;
  bytes: Buffer = EMPTY;

  constructor(dialect: Dialect, secrets: Secrets) {
    this.#dialect = dialect;
    this.#secrets = secrets;
  }

  /** Returns the fault that the first event reports, undefined when it is none, and `unknown` until it is complete. */
  push(chunk: Buffer): Fault | 'unknown' | undefined {
    this.bytes = this.bytes.length === 0 ? chunk : Buffer.concat([this.bytes, chunk]);
    const { bytes } = this;
    // Comments only keep the connection alive.
    const first = blocksOf(bytes.subarray(0, lastBlockEnd(bytes))).find((block) => block.includes(DATA_FIELD));
    if (first) return this.#faultIn(first);
    return bytes.length > MAX_HELD_BYTES ? undefined : 'unknown';
  }

  #faultIn(block: Buffer): Fault | undefined {
    if (!SUSPECT.test(block.toString('latin1', 0, SUSPECT_BYTES))) return undefined;
    const text = block.toString('utf8');
    const name = /^event:[ ]?(.*?)\r?$/m.exec(text)?.[1];
    const [event] = codecOf(this.#dialect).upstream.openDecoder({ requestId: '' }).push(blockData(text), name);
    if (event?.kind !== 'error') return undefined;
    const { code, retryAfterMs } = event.error;
    const kind = faultKindOf(code);
    // An error of the request itself reaches the client in the provider's own bytes.
    if (!faultRow(kind).failover) return undefined;
    const error = withoutSecrets(event.error, this.#secrets);
    return { kind, error, ...(retryAfterMs !== undefined && { cooldownMs: retryAfterMs }) };
  }
}
