/**
 * Structured log: one JSON line per event (`noun.verb`). Fields are scalars and flat
 * lists by type, so that no body, header map or foreign error reaches it.
 */
import { write, writeSync } from 'node:fs';
import { systemClock } from './clock.ts';
import { codeOf } from './errors.ts';

export type LogValue = string | number | boolean | null | undefined | readonly (string | number)[];
export type LogFields = Readonly<Record<string, LogValue>>;

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Writes buffered lines synchronously. */
  flush(): void;
  /** Lines lost since the start: the reader of the log was too slow or gone. */
  readonly droppedLines: number;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogStream {
  write(line: string): unknown;
  flush?(): void;
  readonly droppedLines?: number;
  /** Set by the log; called with the number of dropped lines when writing works again. */
  onRecovered?: (lines: number) => void;
}

/** Level numbers of pino, which log viewers know. */
const LEVELS = { debug: 20, info: 30, warn: 40, error: 50, silent: 100 } as const satisfies Record<LogLevel, number>;
/** Writes a block at this size or after `FLUSH_MS`: one write per line would double the cost of a request. */
const BLOCK_CHARS = 64 * 1024;
const FLUSH_MS = 500;
/** Bounds the memory that a slow reader of the log can cost. */
const MAX_BACKLOG_CHARS = 16 * 2 ** 20;
const PIPE_RETRY_MS = 50;
/** PIPE_BUF of Linux: writes to a pipe up to this size never mix with those of other processes. */
const WHOLE_WRITE_BYTES = 4_096;
const LF = 0x0a;

/** `common` are fields of every line. */
export function createLog(level: LogLevel, stream: LogStream = standardOutput(), common: LogFields = {}): Log {
  const commonFields = fieldsText(common);
  const at = (name: Exclude<LogLevel, 'silent'>): Log['info'] => {
    const number = LEVELS[name];
    if (number < LEVELS[level]) return () => {};
    return (event, fields) => {
      const rest = fields ? fieldsText(fields) : '';
      stream.write(`{"level":${number},"time":"${timeNow()}"${commonFields}${rest},"msg":"${event}"}\n`);
    };
  };
  const warn = at('warn');
  stream.onRecovered = (lines) => warn('log.lines_dropped', { lines });
  return {
    debug: at('debug'),
    info: at('info'),
    warn,
    error: at('error'),
    flush: () => stream.flush?.(),
    get droppedLines() {
      return stream.droppedLines ?? 0;
    },
  };
}

/** The fields as the middle of a JSON object. */
function fieldsText(fields: LogFields): string {
  const text = JSON.stringify(fields).slice(1, -1);
  return text === '' ? '' : `,${text}`;
}

/** For a process that shares its standard output with others: no write is larger than the system keeps in one piece. */
export const sharedOutput = (): LogStream => standardOutput(WHOLE_WRITE_BYTES);

function standardOutput(maxWriteBytes = Number.POSITIVE_INFINITY): LogStream {
  const blocks = new BlockWriter(1, maxWriteBytes);
  // The last lines matter most, and no asynchronous write completes after `exit`.
  process.on('exit', () => blocks.flush());
  return blocks;
}

/**
 * Writes lines in blocks, asynchronously. Drops lines while the backlog
 * is full and those of failed writes, and reports how many.
 */
class BlockWriter implements LogStream {
  droppedLines = 0;
  onRecovered: (lines: number) => void = () => {};
  readonly #fd: number;
  readonly #maxWriteBytes: number;
  #backlog = '';
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;
  #unreportedLines = 0;

  constructor(fd: number, maxWriteBytes: number) {
    this.#fd = fd;
    this.#maxWriteBytes = maxWriteBytes;
  }

  write(line: string): void {
    if (this.#backlog.length < MAX_BACKLOG_CHARS) this.#backlog += line;
    else this.#countDropped(1);
    if (this.#backlog.length >= BLOCK_CHARS) this.send();
    this.#timer ??= setTimeout(() => this.#onTime(), FLUSH_MS).unref();
  }

  send(): void {
    if (this.#isWriting || this.#backlog === '') return;
    this.#isWriting = true;
    this.#push(this.#takeBacklog());
  }

  #onTime(): void {
    this.send();
    // Another write is still running.
    if (this.#backlog === '') this.#timer = undefined;
    else this.#timer?.refresh();
  }

  flush(): void {
    const lines = this.#takeBacklog();
    this.#reportDropped();
    let rest = Buffer.concat([lines, this.#takeBacklog()]);
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, this.#nextWrite(rest)));
    } catch {
      // The pipe is full or closed.
      this.#countDropped(countLines(rest));
    }
  }

  #push(block: Buffer): void {
    write(this.#fd, this.#nextWrite(block), (error, writtenBytes) => {
      const rest = block.subarray(writtenBytes);
      if (error?.code === 'EAGAIN') setTimeout(() => this.#push(block), PIPE_RETRY_MS);
      else if (!error && rest.length > 0) this.#push(rest);
      else this.#onWritten(error ? countLines(block) : 0);
    });
  }

  /** Whole lines up to the limit of a write; a longer line alone. */
  #nextWrite(block: Buffer): Buffer {
    if (block.length <= this.#maxWriteBytes) return block;
    const fitting = block.lastIndexOf(LF, this.#maxWriteBytes - 1);
    return block.subarray(0, (fitting >= 0 ? fitting : block.indexOf(LF, this.#maxWriteBytes)) + 1 || block.length);
  }

  #onWritten(failedLines: number): void {
    this.#isWriting = false;
    if (failedLines > 0) return this.#countDropped(failedLines);
    if (this.#unreportedLines === 0) return;
    // Empties the backlog first: a full one would drop the report too.
    this.send();
    this.#reportDropped();
  }

  #countDropped(lines: number): void {
    this.droppedLines += lines;
    this.#unreportedLines += lines;
  }

  #reportDropped(): void {
    const lines = this.#unreportedLines;
    this.#unreportedLines = 0;
    if (lines > 0) this.onRecovered(lines);
  }

  #takeBacklog(): Buffer {
    const block = Buffer.from(this.#backlog);
    this.#backlog = '';
    return block;
  }
}

function countLines(block: Buffer): number {
  let count = 0;
  for (let at = block.indexOf(LF); at >= 0; at = block.indexOf(LF, at + 1)) count += 1;
  return count;
}

let lastSecond = Number.NaN;
let lastTime = '';

/** Formats the date once per second, because that takes as long as the rest of a line. */
function timeNow(): string {
  const now = systemClock.now();
  const second = Math.floor(now / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastTime = new Date(now).toISOString().slice(0, -'000Z'.length);
  }
  return `${lastTime}${String(now % 1000).padStart(3, '0')}Z`;
}

export const silentLog: Log = createLog('silent', { write() {} });

/**
 * Log fields for a thrown value: its code or name and the first line of
 * its message. Never its properties, which may hold a request.
 */
export function errorFields(error: unknown): { fault: string; detail: string } {
  if (!(error instanceof Error)) return { fault: typeof error, detail: '' };
  return { fault: codeOf(error) ?? error.name, detail: (error.message.split('\n', 1)[0] ?? '').slice(0, 200) };
}
