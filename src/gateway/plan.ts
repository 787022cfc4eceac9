/**
 * The plan of a call: every way to serve it, in order, and those left out with the reason.
 * Pure: it knows nothing of what works at the moment.
 */
import type { Account, Catalog, Group, Model } from '../catalog/index.ts';
import type { ApiError } from '../core/index.ts';
import * as rules from '../rules/index.ts';
import type { Caller } from './caller.ts';
import { type NamedModel, type OtherModel, resolveModel, resolveOthers } from './models/resolve.ts';
import type { HeldResponse } from './stored/held-response.ts';

/** Accounts of one group that serve the call in one dialect, natively or converted. */
export type Way = Channel & {
  /** Of the group of these accounts; `fallback` says which line of it takes the call. */
  readonly caller: Caller;
  /** As the group prices it; undefined for requests about a stored response. */
  readonly model: Model | undefined;
  readonly boundTo?: string | undefined;
  readonly others?: readonly OtherModel[] | undefined;
};

type Channel = rules.CellWay & { readonly accounts: readonly Account[] };

export interface NamedObjects {
  /** Holds all of them. Without it, only accounts with the feature `objects` take the request. */
  readonly accountId?: string | undefined;
  readonly refused: ApiError;
  /** No conversion can put in what they stand for. */
  readonly isFinal: boolean;
}

export interface PlannedRequest {
  readonly operation: rules.InferenceOperation;
  /** As the request names it; ignored for requests about a stored response. */
  readonly model: unknown;
  readonly refusesFallback?: boolean;
  /** Another provider has not what it names, or would make it again. */
  readonly isBound?: boolean;
  readonly held?: HeldResponse | undefined;
  /** It carries a summary of this gateway, which only a conversion can read. */
  readonly holdsOwnSummary?: boolean;
  readonly objectsOf?: ((model: Model) => NamedObjects | undefined) | undefined;
}

/**
 * `style`: groups of this style do not serve the operation. `count`: tokens are counted in a request of our own,
 * or estimated. `accounts`: no account is left for the dialect. `elsewhere`: another group or our own store holds what
 * the request continues. `request`: it cannot be served in this way.
 */
export type UnusedReason = 'style' | 'count' | 'accounts' | 'elsewhere' | 'request';

export interface UnusedWay {
  readonly group: Group;
  readonly way?: rules.CellWay;
  readonly because: UnusedReason;
  /** For a client whose request nothing else serves. */
  readonly error?: ApiError;
}

export interface Plan {
  /** Those of the own group, the best dialect first, and then those of its fallback lines. */
  readonly ways: readonly Way[];
  readonly leftOut: readonly UnusedWay[];
  /** The error of the best way of the own group, where that one is left out. */
  readonly refusal: ApiError | undefined;
}

/** Throws when the caller cannot use the model, or no way could serve what the request names. */
export function plan(request: PlannedRequest, caller: Caller, catalog: Catalog): Plan {
  const { operation } = request;
  const isAboutStored = rules.inferenceRow(operation).reader === 'stored';
  const model = isAboutStored ? undefined : resolveModel(catalog, caller, request.model);
  const own = planGroup(request, caller, catalog, model);
  const isBound = request.isBound || request.held !== undefined || (model && request.objectsOf?.(model)) !== undefined;
  const goesOn = !isBound || own.leftOut.some(({ because }) => because === 'elsewhere');
  if (!model || !goesOn || request.refusesFallback || !rules.mayFallBack(operation) || model.line.fallback.length === 0)
    return own;
  const others = catalog.fallbackLines(model).map(({ group, model: line }) => {
    const fallback = { line: `${group.id}/${line.name}`, model: { ...line, name: model.name } };
    return planGroup(request, { key: caller.key, group, fallback }, catalog, fallback.model);
  });
  const all = [own, ...others];
  const leftOut = all.flatMap((one) => one.leftOut);
  return { ways: all.flatMap(({ ways }) => ways), leftOut, refusal: own.refusal };
}

function planGroup(request: PlannedRequest, caller: Caller, catalog: Catalog, model: Model | undefined): Plan {
  const { group } = caller;
  const { channels, leftOut } = channelsOf(catalog, caller, request.operation);
  const inGroup = { accounts: catalog.accounts(group.id), isOwn: !caller.fallback };
  const ways: Way[] = [];
  const refused: UnusedWay[] = [];
  let refusal: ApiError | undefined;
  for (const channel of channels) {
    if (request.holdsOwnSummary && channel.isNative && channels.length > 1) {
      refused.push({ group, way: channel, because: 'request' });
      continue;
    }
    const place = placeOf(request, channel, model, inGroup);
    if ('because' in place) {
      refused.push({ group, way: channel, ...place });
      if (ways.length === 0) refusal ??= place.error;
    } else ways.push({ ...channel, ...place, caller, model });
  }
  return { ways, leftOut: refused.length > 0 ? [...leftOut, ...refused] : leftOut, refusal };
}

/**
 * A native way with what the request names: models, and objects where it was read for conversions before.
 * A line that lacks one is passed over.
 */
export function placeAgain<W extends Way>(request: NamingRequest, way: W, catalog: Catalog): W {
  const { group, fallback } = way.caller;
  const { named = [] } = request;
  if (!fallback && named.length === 0) return way;
  const place = placeOf(request, way, way.model, { accounts: catalog.accounts(group.id), isOwn: !fallback });
  if ('because' in place) throw place.error;
  return { ...way, ...place, others: resolveOthers(named, way.caller, catalog) };
}

type NamingRequest = References & { readonly named?: readonly NamedModel[] };
type References = Pick<PlannedRequest, 'held' | 'objectsOf'>;
type Place =
  | Pick<Way, 'accounts' | 'boundTo'>
  | { readonly because: 'elsewhere' | 'request'; readonly error: ApiError };

function placeOf(
  { held, objectsOf }: References,
  { isNative, accounts }: Channel,
  model: Model | undefined,
  group: { readonly accounts: readonly Account[]; readonly isOwn: boolean },
): Place {
  if (held && (isNative ? !group.accounts.some(({ id }) => id === held.accountId) : !held.isHere))
    return { because: held.isHere || held.accountId !== undefined ? 'elsewhere' : 'request', error: held.notFound };
  const objects = isNative && model ? objectsOf?.(model) : undefined;
  if (!isNative || (!held && !objects)) return { accounts };
  const holder = held?.accountId;
  const isOpen = objects !== undefined && objects.accountId === undefined;
  // A continued response fixes the account, so that only its features count.
  const possible = holder === undefined ? group.accounts : group.accounts.filter(({ id }) => id === holder);
  if (isOpen && !possible.some(hasObjects)) {
    if (objects.isFinal && group.isOwn) throw objects.refused;
    return { because: 'request', error: objects.refused };
  }
  const boundTo = holder ?? objects?.accountId;
  const fits = (account: Account): boolean =>
    (boundTo === undefined || account.id === boundTo) && (!isOpen || hasObjects(account));
  return { accounts: accounts.filter(fits), boundTo };
}

const hasObjects = ({ features }: Account): boolean => features.has('objects');

interface GroupChannels extends Pick<Plan, 'leftOut'> {
  readonly channels: readonly Channel[];
}
/** They change with the configuration only. */
const CHANNELS = new WeakMap<Catalog, Map<string, GroupChannels>>();

/**
 * Each account serves in the best dialect that it speaks.
 * A group without any account keeps the first channel, which says so.
 */
export function channelsOf(catalog: Catalog, caller: Caller, operation: rules.InferenceOperation): GroupChannels {
  const id = `${operation} ${caller.fallback ? 'of line' : 'of key'} ${caller.group.id}`;
  const known = CHANNELS.get(catalog)?.get(id);
  if (known) return known;
  const found = findChannels(catalog, caller, operation);
  CHANNELS.set(catalog, (CHANNELS.get(catalog) ?? new Map()).set(id, found));
  return found;
}

function findChannels(catalog: Catalog, caller: Caller, operation: rules.InferenceOperation): GroupChannels {
  const { group, fallback } = caller;
  const row = rules.inferenceRow(operation);
  const cell = fallback ? rules.fallbackCell(operation, group.style) : row.groups[group.style];
  if (!cell || cell.kind === 'refuse' || cell.kind === 'own')
    return { channels: [], leftOut: [{ group, because: 'style' }] };
  const used = new Set<Account>();
  const isDirect = 'isDirect' in cell && cell.isDirect;
  const isCount = 'converts' in row && row.converts === 'count';
  const inCell = rules.waysOfCell(cell);
  const counted = isCount ? inCell.filter(({ isNative }) => !isNative) : [];
  const all = inCell
    .filter((way) => !counted.includes(way))
    .map((way): Channel => {
      const feature = way.isNative ? 'feature' in cell && cell.feature : way.dialect;
      const accounts = catalog
        .accounts(group.id)
        .filter((account) => !used.has(account) && (!feature || account.features.has(feature)))
        .filter(({ cloud }) => !(isDirect && cloud));
      for (const account of accounts) used.add(account);
      return { ...way, accounts };
    });
  const channels = used.size > 0 ? all.filter(({ accounts }) => accounts.length > 0) : all.slice(0, 1);
  const idle = all.filter((channel) => !channels.includes(channel));
  const leftOut = (ways: readonly rules.CellWay[], because: UnusedReason) =>
    ways.map((way): UnusedWay => ({ group, way, because }));
  return { channels, leftOut: [...leftOut(idle, 'accounts'), ...leftOut(counted, 'count')] };
}
