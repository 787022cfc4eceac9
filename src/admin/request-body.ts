/** Bodies of admin calls: JSON, strict, refused with the name of the field. */
import { z } from 'zod';
import { type ApiError, fail, parseNanos } from '../core/index.ts';
import { BODY_BYTES } from '../rules/index.ts';
import { issuesOf } from '../setup/index.ts';
import { type Call, expectJson, readBody } from '../web/index.ts';

export async function readJson<S extends z.ZodType>(call: Call, schema: S): Promise<z.infer<S>> {
  expectJson(call);
  const value = parse((await readBody(call, BODY_BYTES.small)).toString('utf8'));
  if (isUnstorable(value)) throw fail('invalid_request', 'The body holds text that cannot be stored.');
  const result = schema.safeParse(value);
  if (!result.success) throw rejection(issuesOf(result.error, value, 'the body'));
  return result.data;
}

/** The first fault names the field; the rest follow in the message. */
export function rejection(lines: readonly string[]): ApiError {
  const [param] = /^[\w.[\]]+(?=: )/.exec(lines[0] ?? '') ?? [];
  return fail('invalid_request', `${lines.join('; ')}.`, param === undefined ? {} : { param });
}

/** No body is an empty object: what is missing is then said field by field. */
function parse(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fail('invalid_request', 'The body is not JSON.', { cause });
  }
}

/** Zero characters and halves of characters, which PostgreSQL does not take. `JSON.stringify` escapes exactly those. */
export const isUnstorable = (value: unknown): boolean =>
  /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(JSON.stringify(value));

/** For people: one line of it. */
export const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.trim() !== '' && !/\p{Cc}/u.test(text), 'one line of text');

/** Ten million dollars: more than any one booking, and far from what the counters can hold. */
const MAX_AMOUNT = 10n ** 16n;

export const amount = (isWanted: (nanos: bigint) => boolean, wanted: string) =>
  z
    .string()
    .refine((text) => {
      const nanos = parseNanos(text);
      return nanos !== undefined && nanos <= MAX_AMOUNT && nanos >= -MAX_AMOUNT && isWanted(nanos);
    }, wanted)
    .transform((text) => parseNanos(text) ?? 0n);
