/** Handlers of document 1: the matrix cell of the key's group decides between bytes through, conversion and our own answer. */
import { fail } from '../core/index.ts';
import { type Caller, type ConvertedServices, convertCall, forward, type TokenCounter } from '../gateway/index.ts';
import type { Limiter, Slot } from '../pool/index.ts';
import { type Cell, type Dialect, TEXT_ENDPOINTS, type TextOperation } from '../rules/index.ts';
import type { Call } from '../web/index.ts';
import { getModel, getNativeModel, listModels, listNativeModels, type ModelServices } from './models.ts';
import { deleteStored, getStored, listStoredInput } from './stored.ts';
import { getUsage, type UsageServices } from './usage.ts';

export type InferenceServices = ConvertedServices &
  ModelServices &
  UsageServices & { readonly counter: TokenCounter; readonly limiter: Limiter };

type OwnHandler = (call: Call, caller: Caller, parts: InferenceServices) => void | Promise<void>;

/** What the gateway answers from its own records. */
const OWN: Partial<Record<TextOperation, OwnHandler>> = {
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

export async function handleInference(
  call: Call,
  caller: Caller,
  operation: TextOperation,
  parts: InferenceServices,
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
    const entering = acquireSlot(call, caller, parts);
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
    return convertCall(call, caller, operation, from, cell.to, parts);
  const own = cell.kind === 'own' ? OWN[operation] : undefined;
  if (own) return own(call, caller, parts);
  throw fail(
    'not_implemented',
    `${row.method} ${call.path} is not offered for keys of the ${caller.group.style}-style group yet.`,
  );
}

/** Everything that reaches a provider counts against the limits of its key and its user. */
export function acquireSlot(call: Call, { key }: Caller, { limiter }: InferenceServices): undefined | Promise<void> {
  const visit = limiter.acquire(key);
  if (visit instanceof Promise) return visit.then((entered) => keepSlot(call, entered));
  if (visit) keepSlot(call, visit);
  return undefined;
}

function keepSlot(call: Call, visit: Slot): void {
  call.headers = visit.headers;
  call.onClose(() => visit.release());
}

const hasFeature = ({ group }: Caller, feature: string, { catalog }: InferenceServices): boolean =>
  catalog()
    .accounts(group.id)
    .some((account) => account.features.has(feature));
