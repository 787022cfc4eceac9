/** The model that a request names: whether it exists, whether the key may use it, and the account's name for it. */
import type { Account, Catalog, Model } from '../../catalog/index.ts';
import { fail, failAt, matchesGlob } from '../../core/index.ts';
import type { Caller } from '../caller.ts';

/** Model names appear in paths and headers, so they are bounded and must be well-formed text. */
const MAX_NAME = 512;

export const resolveModel = (catalog: Catalog, caller: Caller, name: unknown): Model =>
  // The key was checked for the line that its caller names.
  caller.fallback ? caller.fallback.model : resolveNamed(catalog, caller, name, 'model');

export function resolveNamed(catalog: Catalog, caller: Caller, name: unknown, param: string): Model {
  if (!isModelName(name)) throw failAt('invalid_request', param, `expected a string of 1 to ${MAX_NAME} characters.`);
  if (!mayUse(caller, name))
    throw fail('model_not_allowed', `${param}: this API key may not use "${shown(name)}".`, { param, model: name });
  const model = catalog.resolve(caller.group.id, name);
  if (!model)
    throw fail(
      'model_not_found',
      `${param}: "${shown(name)}" is not available to keys of ${groupsText(caller, param)}; ` +
        'GET /v1/models lists what is.',
      { param, model: name },
    );
  return model;
}

export const isModelName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= MAX_NAME && name.isWellFormed();

/** The model of a request has chosen the group, so that none of several has it. */
export const groupsText = ({ key, group }: Pick<Caller, 'key' | 'group'>, param = 'model'): string =>
  key.groups.length === 1 || param !== 'model'
    ? `group "${group.id}"`
    : `the groups ${key.groups.map((id) => `"${id}"`).join(', ')}`;

export const upstreamName = (model: Model, account: Account): string =>
  account.models.get(model.upstream) ?? model.upstream;

export const mayUse = ({ key }: Pick<Caller, 'key'>, name: string): boolean =>
  key.allowedModels === null || key.allowedModels.some((pattern) => matchesGlob(pattern, name));

export interface NamedModel {
  readonly path: string;
  readonly name: unknown;
  readonly tool?: string | undefined;
}
export type OtherModel = Omit<NamedModel, 'name'> & { readonly model: Model };

/** Throws when the key may not use one of them, or when the group has none of its name. */
export const resolveOthers = (named: readonly NamedModel[], caller: Caller, catalog: Catalog): readonly OtherModel[] =>
  named.map(({ path, name, tool }) => ({ path, tool, model: resolveNamed(catalog, caller, name, path) }));

const shown = (name: string): string => name.slice(0, 100);
