/** Rejections of the gateway that name a member of the request. */
import { jsonOf, recordOf, textOf } from './recording.ts';

/** `<field>: <what is wrong>`, or a `param` beside the message. */
const NAMED = /^[\w$.[\]-]+: /;

/** Returns what the error says, or undefined where it is not a rejection or names no member. */
export function rejectionIn(status: number, body: string): string | undefined {
  if (status < 400 || status >= 500) return undefined;
  const error = recordOf(recordOf(jsonOf(body)).error);
  const message = textOf(error.message);
  const param = textOf(error.param);
  if (param === '' && !NAMED.test(message)) return undefined;
  return param !== '' && !message.startsWith(param) ? `${param}: ${message}` : message;
}
