/**
 * The log: one line of JSON per event, fixed names (`noun.verb`), ids and sizes only. Values are scalars by type, so that
 * a body, a header or an error object of somebody else cannot slip into a line whole.
 */

import { write, writeSync } from 'node:fs';
import { systemClock } from './clock.ts';

export type LogValue = string | number | boolean | null | undefined | readonly (string | number)[];
export type LogFields = Readonly<Record<string, LogValue>>;

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** Writes out what is still buffered. */
  flush(): void;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Where lines go. */
export interface LogStream {
  write(line: string): unknown;
  flush?(): void;
}

/** The numbers that log readers know. */
const LEVELS = { debug: 20, info: 30, warn: 40, error: 50, silent: 100 } as const satisfies Record<LogLevel, number>;
/** Lines leave in blocks of this many characters or after the time below; one write per line would double the cost of a call. */
const BLOCK = 64 * 1024;
const FLUSH_MS = 500;
const MAX_WAITING = 16 * 2 ** 20;
const FULL_PIPE_MS = 50;

export function createLog(level: LogLevel, stream: LogStream = standardOutput()): Log {
  const at = (name: Exclude<LogLevel, 'silent'>): Log['info'] => {
    const number = LEVELS[name];
    if (number < LEVELS[level]) return () => {};
    return (event, fields) => {
      const own = fields ? JSON.stringify(fields).slice(1, -1) : '';
      const rest = own === '' ? '' : `,${own}`;
      stream.write(`{"level":${number},"time":"${timeNow()}"${rest},"msg":"${event}"}\n`);
    };
  };
  const flush = (): void => stream.flush?.();
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), flush };
}

function standardOutput(): LogStream {
  const blocks = new Blocks(1);
  setInterval(() => blocks.send(), FLUSH_MS).unref();
  // The last words matter most, and nothing asynchronous happens after them.
  process.on('exit', () => blocks.flush());
  return blocks;
}

/** Lines in blocks, written beside the work. A reader who is slow costs lines once too many wait, one who is gone costs nothing. */
class Blocks implements LogStream {
  readonly #fd: number;
  #waiting = '';
  #isWriting = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(line: string): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting += line;
    if (this.#waiting.length >= BLOCK) this.send();
  }

  send(): void {
    if (this.#isWriting || this.#waiting === '') return;
    const block = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#isWriting = true;
    this.#push(block);
  }

  flush(): void {
    let rest = Buffer.from(this.#waiting);
    this.#waiting = '';
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, rest));
    } catch {
      // Full or gone; there is nobody to tell.
    }
  }

  #push(block: Buffer): void {
    write(this.#fd, block, (error, taken) => {
      const rest = block.subarray(taken);
      if (error?.code === 'EAGAIN') setTimeout(() => this.#push(block), FULL_PIPE_MS);
      else if (!error && rest.length > 0) this.#push(rest);
      else this.#isWriting = false;
    });
  }
}

let lastMs = 0;
let lastTime = '';

/** Written out once per millisecond, in which many lines may be written. */
function timeNow(): string {
  const now = systemClock.now();
  if (now !== lastMs) {
    lastMs = now;
    lastTime = new Date(now).toISOString();
  }
  return lastTime;
}

export const silentLog: Log = createLog('silent', { write() {} });

/** What may be said of a thrown thing in a log: its name, code and first line; never its properties, which may hold a request. */
export function errorFields(error: unknown): { fault: string; detail: string } {
  if (!(error instanceof Error)) return { fault: typeof error, detail: '' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { fault: code, detail: (error.message.split('\n', 1)[0] ?? '').slice(0, 200) };
}
