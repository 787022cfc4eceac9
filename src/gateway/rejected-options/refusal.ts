/**
 * What a provider's error says about the field that it rejects, in the forms of all providers.
 * Never kept or logged: it may quote the request.
 */
import { valueOfJson } from '../../core/index.ts';
import { isObject, type JsonObject, type UpstreamFailure } from '../../dialects/index.ts';
import { REJECTION_STATUSES } from '../../rules/index.ts';

export interface Refusal {
  readonly message: string;
  readonly fields: readonly string[];
}

/** Longer messages quote the request. */
const MAX_MESSAGE_CHARS = 2_000;
const MAX_FIELDS = 16;

/** Undefined for an error that does not reject the request, and for the page of a proxy. */
export function readRefusal({ status, body }: Pick<UpstreamFailure, 'status' | 'body'>): Refusal | undefined {
  if (!REJECTION_STATUSES.has(status)) return undefined;
  const whole = errorBodyOf(body);
  if (!whole) return /^\s*</.test(body) ? undefined : refusal(body, []);
  const error = isObject(whole.error) ? whole.error : whole;
  const violations = [
    ...listOf(error.details).flatMap(fieldViolations),
    ...listOf(whole.detail ?? (isObject(error.message) ? error.message.detail : undefined)).flatMap(validationError),
  ];
  const texts = [error.message, whole.error, whole.detail, ...violations.map(({ text }) => text)];
  const fields = [error.param, ...violations.map(({ field }) => field)];
  return refusal(texts.filter(isText).join('\n'), fields.filter(isText));
}

const refusal = (message: string, fields: readonly string[]): Refusal => ({
  message: message.slice(0, MAX_MESSAGE_CHARS),
  fields: fields.slice(0, MAX_FIELDS),
});

/** Undefined where it is no JSON object. Some providers put the error into a list. */
export function errorBodyOf(body: string): JsonObject | undefined {
  const value = valueOfJson(body);
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return isObject(first) ? first : undefined;
}

interface Violation {
  readonly field: unknown;
  readonly text: unknown;
}

/** `details` of Google's errors. */
const fieldViolations = (detail: JsonObject): Violation[] =>
  listOf(detail.fieldViolations).map(({ field, description }) => ({ field, text: description }));

/** `detail` of servers built with FastAPI, whose paths start with `body`. */
function validationError({ loc, msg }: JsonObject): Violation[] {
  const field = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '';
  return [{ field, text: `${field}: ${msg}` }];
}

const listOf = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.slice(0, MAX_FIELDS).filter(isObject) : [];
const isText = (value: unknown): value is string => typeof value === 'string';
