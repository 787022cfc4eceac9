/** Why a call failed and what to do, for its log line: codes and rules, never words of a request or a provider. */
import { type ApiError, isPlainName, type LogFields, quoteNamesOnly } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';
import type { Call } from './call.ts';
import type { AttemptTrace } from './call-trace.ts';

export function failureFields({ trace, logFields }: Call, status: number): LogFields | undefined {
  const last = trace.attempts.at(-1);
  // A count that no provider makes is estimated, so the call succeeds.
  if (last?.outcome !== undefined && last.outcome in rules.FAULTS && last.outcome !== 'cannot_count')
    return faultFields(last, last.outcome as rules.FaultKind);
  const { code } = logFields;
  if (status < 400 || typeof code !== 'string' || !(code in rules.ERRORS)) return undefined;
  const row: rules.ErrorRow = rules.ERRORS[code as rules.ErrorCode];
  return { why: row.means, action: rules.CODE_ADVICE[code as rules.ErrorCode] };
}

function faultFields({ accountId, status, reason }: AttemptTrace, kind: rules.FaultKind): LogFields {
  const facts = [status === undefined ? undefined : `HTTP ${status}`, reason].filter((fact) => fact !== undefined);
  const detail = facts.length === 0 ? '' : ` (${facts.join(', ')})`;
  return { why: `account ${accountId}: ${rules.FAULTS[kind].means}${detail}`, action: rules.FAULT_ADVICE[kind] };
}

const MAX_MESSAGE_CHARS = 300;

/** The gateway's message to the client, with nothing of the request but names. */
export function storedMessage({ message, details: { param } }: ApiError): string {
  const named = param === undefined || isPlainName(param) ? message : message.replaceAll(param, '[...]');
  return quoteNamesOnly(named).slice(0, MAX_MESSAGE_CHARS);
}
