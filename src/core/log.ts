/**
 * The log: one line of JSON per event, fixed names (`noun.verb`), ids and sizes only. Values are scalars by type, so that
 * a body, a header or an error object of somebody else cannot slip into a line whole.
 */
import { type DestinationStream, pino } from 'pino';

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

/** Lines leave in blocks of this many bytes or after the flush below; one write per line would double the cost of a call. */
const BUFFER_BYTES = 12 * 1024;
const FLUSH_MS = 500;

export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  const buffered = destination ?? pino.destination({ dest: 1, sync: false, minLength: BUFFER_BYTES });
  const sink = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, buffered);
  const flush = (): void => sink.flush();
  if (!destination) setInterval(flush, FLUSH_MS).unref();
  const at = (name: 'debug' | 'info' | 'warn' | 'error') => (event: string, fields?: LogFields) =>
    fields ? sink[name](fields, event) : sink[name](event);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), flush };
}

export const silentLog: Log = createLog('silent', { write() {} });

/** What may be said of a thrown thing in a log: its name, code and first line; never its properties, which may hold a request. */
export function faultOf(error: unknown): { fault: string; detail: string } {
  if (!(error instanceof Error)) return { fault: typeof error, detail: '' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { fault: code, detail: (error.message.split('\n', 1)[0] ?? '').slice(0, 200) };
}
