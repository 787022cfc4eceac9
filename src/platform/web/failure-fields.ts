/** Why a call failed and what to do, for its log line: codes and rules, never words of a request or a provider. */
import { type ApiError, isPlainName, type LogFields, quoteNamesOnly } from '../../core/index.ts';
import {
  CODE_ADVICE,
  ERRORS,
  type ErrorCode,
  type ErrorRow,
  FAULT_ADVICE,
  FAULTS,
  type FaultKind,
} from '../../rules/index.ts';
import type { Call } from './call.ts';
import type { AttemptTrace } from './call-trace.ts';

export function failureFields({ trace, logFields }: Call, status: number): LogFields | undefined {
  const last = trace.attempts.at(-1);
  // A count that no provider makes is estimated, so the call succeeds.
  if (last?.outcome !== undefined && last.outcome in FAULTS && last.outcome !== 'cannot_count')
    return faultFields(last, last.outcome as FaultKind);
  const { code } = logFields;
  if (status < 400 || typeof code !== 'string' || !(code in ERRORS)) return undefined;
  const row: ErrorRow = ERRORS[code as ErrorCode];
  return { why: row.means, action: CODE_ADVICE[code as ErrorCode] };
}

function faultFields({ accountId, status, reason }: AttemptTrace, kind: FaultKind): LogFields {
  const facts = [status === undefined ? undefined : `HTTP ${status}`, reason].filter((fact) => fact !== undefined);
  const detail = facts.length === 0 ? '' : ` (${facts.join(', ')})`;
  return { why: `account ${accountId}: ${FAULTS[kind].means}${detail}`, action: FAULT_ADVICE[kind] };
}

const MAX_MESSAGE_CHARS = 300;

/** The gateway's message to the client, with nothing of the request but names. */
export function storedMessage({ message, details: { param } }: ApiError): string {
  const named = param === undefined || isPlainName(param) ? message : message.replaceAll(param, '[...]');
  return quoteNamesOnly(named).slice(0, MAX_MESSAGE_CHARS);
}
