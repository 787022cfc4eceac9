/** The plan of a call: the ways to serve it, in the order in which they are tried. Pure: it knows the configuration, not what works at the moment. */
import type { Account, Catalog, Model } from '../catalog/index.ts';
import {
  type Feature,
  fallbackCell,
  type InferenceOperation,
  type Leg,
  legsOf,
  type ServedCell,
  type UpstreamDialect,
} from '../rules/index.ts';
import { accountsSpeaking, type Caller } from './caller.ts';

/** Accounts of one group that serve the call in one dialect, natively or converted. */
export type Way = Leg & {
  /** Of the group of these accounts; `fallback` says which line of it takes the call. */
  readonly caller: Caller;
  readonly accounts: readonly Account[];
  /** Only accounts with this feature are used, on a native way. */
  readonly feature: Feature | undefined;
};

/** Each account serves in the best dialect that it speaks. A group without any account keeps the first way, which says so. */
export function planGroup(catalog: Catalog, caller: Caller, cell: ServedCell): readonly Way[] {
  const earlier: UpstreamDialect[] = [];
  const feature = 'feature' in cell ? cell.feature : undefined;
  const ways = legsOf(cell).map((leg) => {
    const accounts = accountsSpeaking(catalog, caller, leg.dialect).filter(
      ({ features }) => !earlier.some((dialect) => features.has(dialect)),
    );
    earlier.push(leg.dialect);
    return { ...leg, caller, accounts, feature };
  });
  const possible = ways.filter(({ accounts }) => accounts.length > 0);
  return possible.length > 0 ? possible : ways.slice(0, 1);
}

/** The ways of the lines that take the calls of a model, in the order of its list. The operation may not be served by all of them. */
export const planFallback = (
  catalog: Catalog,
  { key }: Caller,
  model: Model,
  operation: InferenceOperation,
): readonly Way[] =>
  catalog.fallbackLines(model).flatMap(({ group, model: line }) => {
    const cell = fallbackCell(operation, group.style);
    const fallback = { line: `${group.id}/${line.name}`, model: { ...line, name: model.name } };
    return cell ? planGroup(catalog, { key, group, fallback }, cell) : [];
  });
