/**
 * Requests of document 1: the matrix cell of the key's group decides between native, converted and our own response. Of
 * several groups, the model of the request has chosen one before.
 */
import { fail } from '../../core/index.ts';
import {
  type Caller,
  type ChosenGroup,
  callersOf,
  endpointNotSupported,
  type Gateway,
  serves,
} from '../../gateway/index.ts';
import type { Call } from '../../platform/web/index.ts';
import * as rules from '../../rules/index.ts';
import { BATCH_HANDLERS } from './batches.ts';
import { CONVERSATION_HANDLERS } from './conversations.ts';
import { uploadFile } from './file-upload.ts';
import { createFile, deleteFile, type FileApiServices, getFile, getFileContent, listFiles } from './files.ts';
import { getModel, getNativeModel, listModels, listNativeModels } from './models.ts';
import { listCaches, listContainers } from './provider-objects.ts';
import { getRequestUsage, type RequestUsageServices } from './request-usage.ts';
import { cancelStored, deleteStored, getStored, listStoredInput } from './stored.ts';
import { getBillingUsage, getSubscription, getUsage, type UsageServices } from './usage.ts';

export interface InferenceServices extends UsageServices, RequestUsageServices, FileApiServices {
  readonly gateway: Gateway;
}

type Operation = rules.InferenceOperation;
type Admitted = ChosenGroup & { readonly isAdmitted: boolean };
type OwnHandler = (services: InferenceServices, call: Call, caller: Caller) => void | Promise<void>;

/**
 * Operations that the gateway responds to from its own records. The compiler demands one for every row with an `own`
 * cell.
 */
const OWN_HANDLERS: Readonly<Record<rules.OwnOperation, OwnHandler>> = {
  'models.list': listModels,
  'models.get': getModel,
  'caches.list': listCaches,
  'containers.list': listContainers,
  'generate.models': listNativeModels,
  'generate.model': getNativeModel,
  'files.create': createFile,
  'files.list': listFiles,
  'files.get': getFile,
  'files.content': getFileContent,
  'files.delete': deleteFile,
  'googleFiles.upload': uploadFile,
  'googleFiles.list': listFiles,
  'googleFiles.get': getFile,
  'googleFiles.content': getFileContent,
  'googleFiles.delete': deleteFile,
  ...BATCH_HANDLERS,
  ...CONVERSATION_HANDLERS,
  'usage.get': getUsage,
  'usage.request': getRequestUsage,
  'billing.subscription': getSubscription,
  'billing.usage': getBillingUsage,
  'responses.get': getStored,
  'responses.delete': deleteStored,
  'responses.cancel': cancelStored,
  'responses.inputItems': listStoredInput,
};

export async function handleInference(services: InferenceServices, call: Call, given: Caller, operation: Operation) {
  if (given.key.groups.length > 1) return handleInSeveral(services, call, given, operation);
  const caller = namesHeld(call) ? await holderOf(services, call, given) : given;
  return handleInGroup(services, call, { caller, isAdmitted: false }, operation);
}

const HELD = ['response_id', 'cache_id', 'container_id', 'file_id'] as const;
const namesHeld = ({ params }: Call): boolean => HELD.some((name) => params[name] !== undefined);

/** A request without a model goes by what it names, or is about the key. */
async function handleInSeveral(services: InferenceServices, call: Call, given: Caller, operation: Operation) {
  const { gateway } = services;
  const { method, reader } = rules.inferenceRow(operation);
  const callers = callersOf(gateway.catalog(), given.key);
  const [first] = callers.filter((one) => serves(one, operation));
  if (!first) throw endpointNotSupported(`${method} ${call.path}`, ...callers.map(({ group }) => group));
  const goOn = (chosen: ChosenGroup, isAdmitted = false): Promise<void> => {
    call.addLogFields({ group: chosen.caller.group.id });
    return handleInGroup(services, call, { ...chosen, isAdmitted }, operation);
  };
  if (namesHeld(call)) return goOn({ caller: await holderOf(services, call, first) });
  if (reader === 'none') return goOn({ caller: first });
  // Before anything of the body is read.
  await gateway.acquireSlot(call, given);
  return goOn(await gateway.chooseGroup(call, given, operation), true);
}

async function handleInGroup(services: InferenceServices, call: Call, chosen: Admitted, operation: Operation) {
  const { gateway } = services;
  const { caller, isAdmitted } = chosen;
  const row = rules.inferenceRow(operation);
  const cell: rules.Cell = row.groups[caller.group.style];
  if (cell.kind === 'refuse') {
    const { optIn, why } = cell;
    const endpoint = `${row.method} ${call.path}`;
    if (why) throw fail('endpoint_not_supported', `${endpoint} is not available. ${why}`);
    if (!optIn || !hasModelWith(services, caller, optIn)) throw endpointNotSupported(endpoint, caller.group);
    if (!isAdmitted) await gateway.acquireSlot(call, caller);
    return gateway.convertImages(call, caller, { operation, to: optIn.to });
  }
  if (cell.kind === 'own') return OWN_HANDLERS[operation as rules.OwnOperation](services, call, caller);
  // Made by conversion, so that our own store holds it.
  const held = row.reader === 'stored' ? await gateway.heldByPath(call, caller) : undefined;
  if (held?.isHere) return ownHandlerOf(operation, held.notFound)(services, call, caller);
  if (cell.kind === 'native' && cell.feature && !cell.otherwise) checkFeature(services, call, caller, cell.feature);
  // Everything that reaches a provider counts against the limits of its key and its user.
  const acquiring = isAdmitted ? undefined : gateway.acquireSlot(call, caller);
  if (acquiring) await acquiring;
  if (!('converts' in row) || row.converts !== 'count') return gateway.serve(call, chosen, operation);
  const from = row.convertsFrom;
  if (cell.kind !== 'convert' && (!cell.feature || hasFeature(services, caller, cell.feature)))
    return gateway.countNative(call, chosen, { operation, from, to: cell.dialect });
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

/** Interactions are never made by conversion: a response that is held here is none. */
function ownHandlerOf(operation: Operation, notFound: Error): OwnHandler {
  const handler: OwnHandler | undefined = OWN_HANDLERS[operation as rules.OwnOperation];
  if (!handler) throw notFound;
  return handler;
}

/**
 * The caller in the group whose provider holds the object: one of its own, or that of a line that made it as a
 * fallback.
 */
async function holderOf({ gateway }: InferenceServices, call: Call, caller: Caller): Promise<Caller> {
  const { key } = caller;
  const catalog = gateway.catalog();
  if (key.groups.length === 1 && !catalog.mayFallBack(caller.group.id)) return caller;
  const accountId = (await gateway.heldByPath(call, caller))?.accountId;
  const holders = catalog.groupsOf(accountId);
  const own = key.groups.filter((id) => holders.includes(id));
  const others = holders.filter((id) => key.groups.some((one) => catalog.fallsBackTo(one, id)));
  const [holder] = callersOf(catalog, { ...key, groups: [...own, ...others] });
  return holder ? { key, group: holder.group } : caller;
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
