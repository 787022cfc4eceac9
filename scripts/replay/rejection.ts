/** Rejections of the gateway that name a member of the request, or the value that is not accepted. */
import { jsonOf, recordOf, textOf } from './recording.ts';

/** `<field>: <what is wrong>`, or a `param` beside the message. */
const NAMED = /^[\w$.[\]-]+: /;
/** A tool, a file or an address. */
const VALUES = /'([^']+)'|"([^"]+)"|(https?:\/\/\S+)/g;

/** Returns what the error says, or undefined where it is not a rejection or names nothing of the request. */
export function rejectionIn(status: number, body: string, request: Buffer): string | undefined {
  if (status < 400 || status >= 500) return undefined;
  const error = recordOf(recordOf(jsonOf(body)).error);
  const message = textOf(error.message);
  const param = textOf(error.param);
  if (param === '' && !NAMED.test(message) && !quotes(message, request.toString('utf8'))) return undefined;
  return param !== '' && !message.startsWith(param) ? `${param}: ${message}` : message;
}

const quotes = (message: string, request: string): boolean =>
  [...message.matchAll(VALUES)].some(([, a, b, c]) => request.includes(a ?? b ?? c ?? message));
