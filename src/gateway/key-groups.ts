/**
 * The group of a request whose key has several: the first that has a line for the model, chosen once,
 * where the request is read (ADR 22).
 */
import type { Catalog } from '../catalog/index.ts';
import { type InferenceOperation, inferenceRow } from '../rules/index.ts';
import { type Caller, callersOf } from './caller.ts';
import { isModelName } from './models/resolve.ts';
import { channelsOf } from './plan.ts';

/** Where no group has the model, one that serves the operation, which says so. */
export function chooseByModel(catalog: Catalog, caller: Caller, operation: InferenceOperation, model: unknown): Caller {
  const { key } = caller;
  if (key.groups.length === 1) return caller;
  const callers = callersOf(catalog, key);
  const having = isModelName(model) ? callers.filter(({ group }) => catalog.resolve(group.id, model)) : [];
  const speaks = (one: Caller): boolean =>
    channelsOf(catalog, one, operation).channels.some(({ isNative, accounts }) => isNative && accounts.length > 0);
  const preferred = key.prefer === 'native' ? having.find(speaks) : undefined;
  return preferred ?? having[0] ?? callers.find((one) => serves(one, operation)) ?? caller;
}

export const serves = ({ group }: Caller, operation: InferenceOperation): boolean => {
  const cell = inferenceRow(operation).groups[group.style];
  return cell.kind !== 'refuse' || cell.optIn !== undefined;
};
