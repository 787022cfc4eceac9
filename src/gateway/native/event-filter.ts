/**
 * Events that a native stream changes: our secrets are removed from errors,
 * and a report of usage goes that its client did not ask for. Other bytes pass.
 */
import { redact, type Secrets } from '../../catalog/index.ts';
import { blockData, blocksOf, concatBuffers, GrowingBuffer, lastBlockEnd, nextBlockEnd } from '../../core/index.ts';
import { isUsageOnly, mayReportUsage } from './hidden-usage.ts';

/** The end of a member name or of a type; the pattern then tells an error from `"error": null`. */
const WORD = Buffer.from('error"');
const PATTERN = /"error"\s*:\s*[{"]|"type"\s*:\s*"error"/;
/** A longer event is neither an error nor a report of usage. */
const MAX_HELD_BYTES = 64 * 1024;
/** Bytes before a line feed that tell whether it ends an event. */
const LOOK_BACK = 3;
const LF = 0x0a;
const EMPTY = Buffer.alloc(0);

/**
 * Holds an event until its end has come: clients cannot read it before.
 * Each byte is searched once, however small the chunks are.
 */
export class EventFilter {
  readonly #secrets: Secrets;
  readonly #hidesUsage: boolean;
  readonly #joined = new GrowingBuffer();
  #held: Buffer = EMPTY;
  /** The event is too long for either. It passes, but for its last bytes. */
  #isLong = false;

  constructor(secrets: Secrets, hidesUsage: boolean) {
    this.#secrets = secrets;
    this.#hidesUsage = hidesUsage;
  }

  push(chunk: Buffer): Buffer {
    const before = this.#held.length;
    // Most reads are whole events.
    if (before === 0 && chunk.length > 1 && chunk[chunk.length - 1] === LF && chunk[chunk.length - 2] === LF)
      return this.#changed(chunk);
    const bytes = before === 0 ? chunk : this.#joined.join(this.#held, chunk);
    const searched = Math.max(0, before - LOOK_BACK);
    const found = lastBlockEnd(bytes.subarray(searched));
    const end = found === 0 ? 0 : searched + found;
    const blocks = this.#passed(bytes.subarray(0, end));
    this.#held = bytes.subarray(end);
    if (this.#held.length <= MAX_HELD_BYTES && !this.#isLong) return blocks;
    this.#isLong = true;
    const rest = this.#held;
    this.#held = rest.subarray(Math.max(0, rest.length - LOOK_BACK));
    return concatBuffers([blocks, rest.subarray(0, rest.length - this.#held.length)]);
  }

  /** The last event, where the provider omitted the blank line after it. */
  end(): Buffer {
    const rest = this.#held;
    this.#held = EMPTY;
    return this.#isLong ? rest : this.#changed(rest);
  }

  /** Whole events. The first may be the end of a long one. */
  #passed(blocks: Buffer): Buffer {
    if (blocks.length === 0) return blocks;
    const start = this.#isLong ? nextBlockEnd(blocks, 0) : 0;
    this.#isLong = false;
    const others = this.#changed(blocks.subarray(start));
    return start === 0 ? others : concatBuffers([blocks.subarray(0, start), others]);
  }

  #changed(blocks: Buffer): Buffer {
    const mayReport = this.#hidesUsage && mayReportUsage(blocks);
    if (!mayReport && !blocks.includes(WORD)) return blocks;
    const shown = blocksOf(blocks).filter((block) => !mayReport || !isUsageOnly(block));
    return concatBuffers(shown.map((block) => (isErrorEvent(block) ? redactBytes(block, this.#secrets) : block)));
  }
}

export const redactBytes = (bytes: Buffer, secrets: Secrets): Buffer =>
  Buffer.from(redact(bytes.toString('utf8'), secrets));

/** An event that cannot be parsed counts as an error. */
function isErrorEvent(block: Buffer): boolean {
  if (block.length > MAX_HELD_BYTES || !block.includes(WORD) || !PATTERN.test(block.toString('latin1'))) return false;
  try {
    const { type, error, response } = JSON.parse(blockData(block.toString('utf8')));
    return type === 'error' || Boolean(error) || Boolean(response?.error);
  } catch {
    return true;
  }
}
