/** Handlers of document 1: the matrix cell of the key's group decides between bytes through, conversion and our own answer. */
import { fail } from '../core/index.ts';
import { type Caller, type ConverseParts, converse, forward, type TokenCounter } from '../gateway/index.ts';
import type { Limiter, Visit } from '../pool/index.ts';
import { type Cell, type Dialect, TEXT_ENDPOINTS, type TextOperation } from '../rules/index.ts';
import type { Call } from '../web/index.ts';
import { getModel, getNativeModel, listModels, listNativeModels, type ModelParts } from './models.ts';
import { deleteStored, getStored, listStoredInput } from './stored.ts';
import { getUsage, type UsageParts } from './usage.ts';

export type TextParts = ConverseParts &
  ModelParts &
  UsageParts & { readonly counter: TokenCounter; readonly limiter: Limiter };

type OwnAnswer = (call: Call, caller: Caller, parts: TextParts) => void | Promise<void>;

/** What the gateway answers from its own records. */
const OWN: Partial<Record<TextOperation, OwnAnswer>> = {
  'models.list': listModels,
  'models.get': getModel,
  'generate.models': listNativeModels,
  'generate.model': getNativeModel,
  'usage.get': getUsage,
  'responses.get': getStored,
  'responses.delete': deleteStored,
  'responses.inputItems': listStoredInput,
};

/** The dialect of the requests that can be converted. */
const SPOKEN: Partial<Record<TextOperation, Dialect>> = {
  'messages.create': 'messages',
  'chat.create': 'chat',
  'responses.create': 'responses',
};

const COUNTED: Partial<Record<TextOperation, 'messages' | 'responses'>> = {
  'messages.count': 'messages',
  'responses.inputTokens': 'responses',
};

export async function answerText(
  call: Call,
  caller: Caller,
  operation: TextOperation,
  parts: TextParts,
): Promise<void> {
  const row = TEXT_ENDPOINTS[operation];
  const cell: Cell = row.groups[caller.group.style];
  if (cell.kind === 'refuse') {
    throw fail(
      'endpoint_not_supported',
      `${row.method} ${call.path} is not available for keys of the ${caller.group.style}-style group "${caller.group.id}".`,
    );
  }
  if (cell.kind !== 'own') {
    const entering = limit(call, caller, parts);
    if (entering) await entering;
  }
  if (operation === 'generate.count' && !hasFeature(caller, 'count', parts)) {
    return parts.counter.count(call, caller, operation, 'generate', 'generate', parts);
  }
  if (cell.kind === 'native') return forward(call, caller, operation, cell, parts);
  if (cell.kind === 'prefer' && hasFeature(caller, cell.feature, parts))
    return forward(call, caller, operation, cell, parts);
  const counted = COUNTED[operation];
  if (counted && cell.kind === 'convert') return parts.counter.count(call, caller, operation, counted, cell.to, parts);
  const from = SPOKEN[operation];
  if (from && (cell.kind === 'convert' || cell.kind === 'prefer'))
    return converse(call, caller, operation, from, cell.to, parts);
  const own = cell.kind === 'own' ? OWN[operation] : undefined;
  if (own) return own(call, caller, parts);
  throw fail(
    'not_implemented',
    `${row.method} ${call.path} is not offered for keys of the ${caller.group.style}-style group yet.`,
  );
}

/** Everything that reaches a provider counts against the limits of its key and its user. */
export function limit(call: Call, { key }: Caller, { limiter }: TextParts): undefined | Promise<void> {
  const visit = limiter.enter(key);
  if (visit instanceof Promise) return visit.then((entered) => stay(call, entered));
  if (visit) stay(call, visit);
  return undefined;
}

function stay(call: Call, visit: Visit): void {
  call.headers = visit.headers;
  call.onClose(() => visit.leave());
}

const hasFeature = ({ group }: Caller, feature: string, { catalog }: TextParts): boolean =>
  catalog()
    .accounts(group.id)
    .some((account) => account.features.has(feature));
