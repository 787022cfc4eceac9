/** Which model does the caller mean, and may the key use it? */
import type { Catalog, Model } from '../../catalog/index.ts';
import { fail, matchesGlob } from '../../core/index.ts';
import type { Caller } from '../caller.ts';

/** It stands in paths and headers, which are shorter than bodies and take no halves of characters. */
const MAX_NAME = 512;

export function resolveModel(catalog: Catalog, caller: Caller, name: unknown): Model {
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME || !name.isWellFormed()) {
    throw fail('invalid_request', 'model: expected the name of a model, got nothing usable.', { param: 'model' });
  }
  if (!mayUse(caller, name)) {
    throw fail('model_not_allowed', `model: this API key may not use "${shown(name)}".`, { param: 'model' });
  }
  const model = catalog.resolve(caller.group.id, name);
  if (!model) {
    throw fail(
      'model_not_found',
      `model: "${shown(name)}" is not available to keys of group "${caller.group.id}"; GET /v1/models lists what is.`,
      { param: 'model' },
    );
  }
  return model;
}

export const mayUse = ({ key }: Caller, name: string): boolean =>
  key.allowedModels === null || key.allowedModels.some((pattern) => matchesGlob(pattern, name));

const shown = (name: string): string => name.slice(0, 100);
