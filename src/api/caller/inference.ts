/** Requests of document 1: the matrix cell of the key's group decides between native, converted and our own response. */
import { fail } from '../../core/index.ts';
import { type Caller, endpointNotSupported, type Gateway } from '../../gateway/index.ts';
import type { Call } from '../../platform/web/index.ts';
import * as rules from '../../rules/index.ts';
import { getBillingUsage, getSubscription } from './billing.ts';
import { getModel, getNativeModel, listModels, listNativeModels } from './models.ts';
import { getRequestUsage, type RequestUsageServices } from './request-usage.ts';
import { cancelStored, deleteStored, getStored, listStoredInput } from './stored.ts';
import { getUsage, type UsageServices } from './usage.ts';

export interface InferenceServices extends UsageServices, RequestUsageServices {
  readonly gateway: Gateway;
}

type OwnHandler = (services: InferenceServices, call: Call, caller: Caller) => void | Promise<void>;

/** Operations that the gateway responds to from its own records. The compiler demands one for every row with an `own` cell. */
const OWN_HANDLERS: Readonly<Record<rules.OwnOperation, OwnHandler>> = {
  'models.list': listModels,
  'models.get': getModel,
  'generate.models': listNativeModels,
  'generate.model': getNativeModel,
  'usage.get': getUsage,
  'usage.request': getRequestUsage,
  'billing.subscription': getSubscription,
  'billing.usage': getBillingUsage,
  'responses.get': getStored,
  'responses.delete': deleteStored,
  'responses.cancel': cancelStored,
  'responses.inputItems': listStoredInput,
};

export async function handleInference(
  services: InferenceServices,
  call: Call,
  given: Caller,
  operation: rules.InferenceOperation,
): Promise<void> {
  const { gateway } = services;
  const row = rules.inferenceRow(operation);
  const caller = row.reader === 'stored' ? await holderOf(services, call, given) : given;
  const cell: rules.Cell = row.groups[caller.group.style];
  if (cell.kind === 'refuse') {
    const { optIn } = cell;
    if (!optIn || !hasModelWith(services, caller, optIn))
      throw endpointNotSupported(`${row.method} ${call.path}`, caller.group);
    await gateway.acquireSlot(call, caller);
    return gateway.convertImages(call, caller, { operation, to: optIn.to });
  }
  if (cell.kind === 'own') return OWN_HANDLERS[operation as rules.OwnOperation](services, call, caller);
  if (row.reader === 'stored' && (await isHeldHere(services, call, caller)))
    return OWN_HANDLERS[operation as rules.OwnOperation](services, call, caller);
  if (cell.kind === 'native' && cell.feature && !cell.otherwise) checkFeature(services, call, caller, cell.feature);
  // Everything that reaches a provider counts against the limits of its key and its user.
  const acquiring = gateway.acquireSlot(call, caller);
  if (acquiring) await acquiring;
  if (!('converts' in row) || row.converts !== 'count') return gateway.serve(call, caller, operation);
  const from = row.convertsFrom;
  if (cell.kind !== 'convert' && (!cell.feature || hasFeature(services, caller, cell.feature)))
    return gateway.countNative(call, caller, { operation, from, to: cell.dialect });
  return gateway.countTokens(call, caller, { operation, from, to: cell.kind === 'native' ? from : cell.to });
}

/** Nothing replaces an account with the feature. A group without accounts is reported as such. */
function checkFeature(services: InferenceServices, call: Call, caller: Caller, feature: rules.Feature): void {
  const { id } = caller.group;
  if (hasFeature(services, caller, feature) || services.gateway.catalog().accounts(id).length === 0) return;
  throw fail(
    'endpoint_not_supported',
    `${call.path} is not available for keys of the group "${id}": none of its upstream accounts has the feature "${feature}".`,
  );
}

/** The response was made by conversion, so that our own store holds it. */
async function isHeldHere({ gateway }: InferenceServices, call: Call, { key }: Caller): Promise<boolean> {
  return (await gateway.store.find(call.params.response_id ?? '', key.userId))?.isHere === true;
}

/** The caller in the group whose provider holds the response: its own one, or that of a line that made it as a fallback. */
async function holderOf({ gateway }: InferenceServices, call: Call, caller: Caller): Promise<Caller> {
  const { key, group } = caller;
  const catalog = gateway.catalog();
  if (!catalog.mayFallBack(group.id)) return caller;
  const accountId = (await gateway.store.find(call.params.response_id ?? '', key.userId))?.accountId;
  const holder = catalog.group(catalog.allAccounts().find(({ id }) => id === accountId)?.groupId ?? '');
  if (!holder || holder.style === 'video' || !catalog.fallsBackTo(group.id, holder.id)) return caller;
  return { key, group: { ...holder, style: holder.style } };
}

const hasModelWith = ({ gateway }: InferenceServices, { group }: Caller, { capability }: rules.OptIn): boolean =>
  gateway
    .catalog()
    .lines(group.id)
    .some(({ overrides }) => overrides[capability] === true);

const hasFeature = ({ gateway }: InferenceServices, { group }: Caller, feature: rules.Feature): boolean =>
  gateway
    .catalog()
    .accounts(group.id)
    .some(({ features }) => features.has(feature));
