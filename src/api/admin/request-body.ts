/** JSON bodies of admin requests. Strict: unknown fields are rejected by name. */
import { z } from 'zod';
import { issuesOf } from '../../catalog/setup/index.ts';
import {
  type ApiError,
  fail,
  failAt,
  JsonLimitError,
  type JsonLimits,
  JsonScanError,
  measureMembers,
  NO_MEMBERS,
  parseNanos,
  valueOfJson,
} from '../../core/index.ts';
import { type Call, expectJson, readBody } from '../../platform/web/index.ts';
import { BODY_BYTES, type ErrorCode, OPERATOR_JSON_LIMITS, UNCHANGED_HEADER } from '../../rules/index.ts';
import { line } from '../../schemas/index.ts';

export async function readJson<S extends z.ZodType>(call: Call, schema: S, maxBytes?: number): Promise<z.output<S>> {
  expectJson(call);
  const bytes = await readBody(call, maxBytes ?? BODY_BYTES.small);
  rejectManyValues(bytes, OPERATOR_JSON_LIMITS);
  const value = parse(bytes.toString('utf8'));
  if (isUnstorable(value)) throw fail('invalid_request', UNSTORABLE);
  const result = schema.safeParse(value);
  if (!result.success) throw rejection(issuesOf(result.error, value, 'the body'));
  return result.data;
}

/** Before they are parsed: those of a MiB would be parsed and named in an error for 200 ms. */
export function rejectManyValues(bytes: Buffer, limits: JsonLimits): void {
  try {
    measureMembers(bytes, NO_MEMBERS, limits);
  } catch (error) {
    if (error instanceof JsonLimitError) throw fail('invalid_request', error.message);
    // What is no JSON object is named by the parser and the schema.
    if (!(error instanceof JsonScanError)) throw error;
  }
}

/** The error names the field of the first line; its message holds all lines. */
export function rejection(lines: readonly string[], code: ErrorCode = 'invalid_request', field?: string): ApiError {
  const param = field ?? /^[\w.[\]]+(?=: )/.exec(lines[0] ?? '')?.[0];
  return fail(code, `${lines.join('; ')}.`, param === undefined ? {} : { param });
}

export function expectChange(body: object): void {
  if (Object.values(body).every((value) => value === undefined))
    throw fail('invalid_request', 'Provide at least one field to update.');
}

const Expected = z.record(z.string(), z.unknown());

/**
 * The values that the changed members had when the caller read them, so that a change that the caller has not seen is
 * not undone.
 */
export function readExpected(call: Call): Readonly<Record<string, unknown>> | undefined {
  const text = call.header(UNCHANGED_HEADER);
  if (text === undefined) return undefined;
  const { data } = Expected.safeParse(valueOfJson(text));
  if (!data) throw failAt('invalid_request', UNCHANGED_HEADER, 'expected a JSON object of members and their values.');
  return data;
}

/** An absent body is an empty object, so that validation names the missing fields. */
function parse(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fail('invalid_request', 'The body is not valid JSON.', { cause });
  }
}

export const UNSTORABLE = 'Strings must not contain NUL characters or unpaired surrogates.';

/** PostgreSQL rejects NUL characters and unpaired surrogates. `JSON.stringify` escapes exactly those. */
export const isUnstorable = (value: unknown): boolean =>
  /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(JSON.stringify(value));

export const reason = line(500, 'one line for the audit log');

/** Ten million dollars: above any single booking, and far below what a bigint column holds. */
const MAX_AMOUNT = 10n ** 16n;

/** `expected` is the description and the error message. */
export const amount = (isAllowed: (nanos: bigint) => boolean, expected: string) =>
  z
    .string()
    .refine((text) => {
      const nanos = parseNanos(text);
      return nanos !== undefined && nanos <= MAX_AMOUNT && nanos >= -MAX_AMOUNT && isAllowed(nanos);
    }, expected)
    .transform((text) => parseNanos(text) ?? 0n)
    .describe(expected);
