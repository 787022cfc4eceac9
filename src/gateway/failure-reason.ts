/** Why a provider rejected an attempt, for the log: the names in its error body. Never its message, which may quote the request. */
import type { Account } from '../catalog/index.ts';
import { redact } from './redact.ts';

/** Codes and types are words; anything else may be text of the caller. */
const NAME = /^[A-Za-z][\w.:-]{0,79}$/;

/** The type, status and code of the error, such as `invalid_request_error/model_not_found`; undefined when the body has none. */
export function failureReason(body: string, account: Pick<Account, 'credential' | 'baseUrl'>): string | undefined {
  const error = errorIn(body);
  const names = [error.type, error.status, error.code].filter(
    (name): name is string => typeof name === 'string' && NAME.test(name),
  );
  return names.length === 0 ? undefined : redact([...new Set(names)].join('/'), account);
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** Error bodies are `{ error: { ... } }`, a list with one such object, or the object itself. */
function errorIn(body: string): JsonRecord {
  try {
    const parsed: unknown = JSON.parse(body);
    const whole = asRecord(Array.isArray(parsed) ? parsed[0] : parsed);
    return typeof whole.error === 'object' ? asRecord(whole.error) : whole;
  } catch {
    return {};
  }
}

const asRecord = (value: unknown): JsonRecord =>
  typeof value === 'object' && value !== null ? (value as JsonRecord) : {};
