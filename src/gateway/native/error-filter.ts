/**
 * Errors in native responses that have the status of a success: an error event in a stream, an error body. They pass on without our
 * secrets; all other bytes pass as they come.
 */
import { redact, type Secrets } from '../../catalog/index.ts';
import { blockData, concatBuffers, GrowingBuffer, lastBlockEnd, nextBlockEnd } from '../../core/index.ts';

/** The end of a member name or of a type. Searched in every chunk; the pattern then tells an error from `"error": null`. */
const WORD = Buffer.from('error"');
const PATTERN = /"error"\s*:\s*[{"]|"type"\s*:\s*"error"/;
/** A longer event is not an error. */
const MAX_ERROR_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);

export class ErrorFilter {
  readonly #secrets: Secrets;
  readonly #joined = new GrowingBuffer();
  #held: Buffer = EMPTY;

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  push(chunk: Buffer): Buffer {
    const before = this.#held.length;
    if (before === 0 && !chunk.includes(WORD)) return chunk;
    const bytes = before === 0 ? chunk : this.#joined.join(this.#held, chunk);
    const end = lastBlockEnd(bytes);
    const rest = bytes.subarray(end);
    const isHeld = mayBeError(rest);
    this.#held = isHeld ? rest : EMPTY;
    const blocks = this.#redacted(bytes.subarray(0, end));
    return isHeld ? blocks : concatBuffers([blocks, rest]);
  }

  /** The last event, where the provider omitted the blank line after it. */
  end(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    return this.#redacted(rest);
  }

  #redacted(blocks: Buffer): Buffer {
    const passed: Buffer[] = [];
    for (let start = 0, end = 0; start < blocks.length; start = end) {
      end = nextBlockEnd(blocks, start);
      const block = blocks.subarray(start, end);
      passed.push(isErrorEvent(block) ? redactBytes(block, this.#secrets) : block);
    }
    return concatBuffers(passed);
  }
}

export const redactBytes = (bytes: Buffer, secrets: Secrets): Buffer =>
  Buffer.from(redact(bytes.toString('utf8'), secrets));

const mayBeError = (bytes: Buffer): boolean =>
  bytes.length <= MAX_ERROR_BYTES && bytes.includes(WORD) && PATTERN.test(bytes.toString('latin1'));

/** An event whose beginning has passed already cannot be parsed, and counts as an error. */
function isErrorEvent(block: Buffer): boolean {
  if (!mayBeError(block)) return false;
  try {
    const { type, error, response } = JSON.parse(blockData(block.toString('utf8')));
    return type === 'error' || Boolean(error) || Boolean(response?.error);
  } catch {
    return true;
  }
}
