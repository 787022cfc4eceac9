/**
 * A native stream until its reply begins. What has arrived is held back while another account may be tried:
 * an error there is a failed attempt, as an error status is.
 */
import type { Secrets } from '../../catalog/index.ts';
import { blockData, blocksOf, concatBuffers, lastBlockEnd } from '../../core/index.ts';
import { codecOf, type Fault } from '../../dialects/index.ts';
import { type Dialect, faultRow } from '../../rules/index.ts';
import { faultKindOf, withoutSecrets } from '../client-error.ts';
import { type Beginning, ReplyBeginning } from './reply-beginning.ts';

/** A beginning that is longer, such as one event with a picture, is passed on as it comes. */
const MAX_HELD_BYTES = 64 * 1024;
/** Comments and pings beyond this are not kept: they only keep the connection alive. */
const MAX_IDLE_BYTES = 4 * 1024;
/**
 * In the beginning of an event; only then it is parsed.
 * The responses dialect writes `"error": null` into every response.
 */
const SUSPECT = /"error"\s*:\s*[{"]|(?:event|"type")\s*:\s*"?(?:error|response\.failed)/;
const SUSPECT_BYTES = 512;
const PING = /^(?:event: ?ping\r?\n)?data: ?(?:\{\s*"type"\s*:\s*"ping"\s*\})?\s*$/;
const PING_BYTES = 64;
const EMPTY = Buffer.alloc(0);
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

/** Lines may end in CR alone, which no provider uses: such a stream passes as it comes. */
function hasLoneCarriageReturn(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(CARRIAGE_RETURN); at !== -1; at = bytes.indexOf(CARRIAGE_RETURN, at + 1))
    if (at < bytes.length - 1 && bytes[at + 1] !== LINE_FEED) return true;
  return false;
}

export class StreamOpening {
  readonly #dialect: Dialect;
  readonly #secrets: Secrets;
  readonly #beginning: ReplyBeginning;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #idleBytes = 0;
  /** An event that has not arrived as a whole. */
  #rest: Buffer = EMPTY;

  /** `repliesAs` is the dialect of its events where that is not the one of its errors. */
  constructor(dialect: Dialect, secrets: Secrets, repliesAs = dialect) {
    this.#dialect = dialect;
    this.#secrets = secrets;
    this.#beginning = new ReplyBeginning(repliesAs);
  }

  get state(): Beginning {
    return this.#beginning.state;
  }

  /** What has arrived. */
  get bytes(): Buffer {
    return concatBuffers([...this.#held, this.#rest]);
  }

  /** Returns the fault that an event reports, undefined once the reply has begun, and `unknown` until then. */
  push(chunk: Buffer): Fault | 'unknown' | undefined {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = bytes;
    if (hasLoneCarriageReturn(bytes)) return undefined;
    const end = lastBlockEnd(bytes);
    this.#rest = bytes.subarray(end);
    const blocks = blocksOf(bytes.subarray(0, end));
    for (const [n, block] of blocks.entries()) {
      const outcome = this.#read(block);
      if (outcome === 'unknown') continue;
      this.#hold(...blocks.slice(n + 1));
      return outcome;
    }
    return this.#heldBytes + this.#rest.length > MAX_HELD_BYTES ? undefined : 'unknown';
  }

  /** The provider has closed the stream. Its last event may lack the blank line. */
  end(): Fault | 'unknown' | undefined {
    const rest = this.#rest;
    this.#rest = EMPTY;
    return rest.length === 0 ? 'unknown' : this.#read(rest);
  }

  #read(block: Buffer): Fault | 'unknown' | undefined {
    const text = block.length > PING_BYTES ? undefined : block.toString('latin1');
    const data = text !== undefined && PING.test(text) ? '' : blockData(block.toString('utf8'));
    if (data === '' && this.#idleBytes + block.length > MAX_IDLE_BYTES) return 'unknown';
    if (data === '') this.#idleBytes += block.length;
    this.#hold(block);
    const fault = data === '' ? undefined : this.#faultIn(block);
    if (fault) return fault;
    return this.#beginning.push(data) === 'begun' ? undefined : 'unknown';
  }

  #hold(...blocks: Buffer[]): void {
    for (const block of blocks) this.#heldBytes += block.length;
    this.#held.push(...blocks);
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
