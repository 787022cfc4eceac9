/** The model that a create request names: its service group by the key's rights, its sheet and its price. */
import type { Key } from '../access/keys/index.ts';
import { type Catalog, type Model, priceAt } from '../catalog/index.ts';
import { type ApiError, fail, failAt, JsonScanError, matchesGlob, scanMembers, valueAt } from '../core/index.ts';
import { parseRates, type Rates, videoRateOf } from '../ledger/index.ts';
import { sheetOf, TASK_JSON_LIMITS, type VideoSheet } from '../rules/index.ts';
import { type VideoGroup, videoGroupsOf } from './service-groups.ts';

export interface VideoTarget {
  readonly group: VideoGroup;
  readonly model: Model;
  readonly sheet: VideoSheet;
}

export type TargetResult = { readonly target: VideoTarget } | { readonly error: ApiError };

/**
 * Reads `model` from the bytes of a body without parsing the rest; undefined when the body or the member is malformed.
 */
export function peekModel(bytes: Buffer): string | undefined {
  try {
    const span = scanMembers(bytes, MODEL, TASK_JSON_LIMITS).get('model');
    const name = span && valueAt(bytes, span);
    return typeof name === 'string' ? name : undefined;
  } catch (error) {
    if (error instanceof JsonScanError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
const MODEL: ReadonlySet<string> = new Set(['model']);

/**
 * The first of the key's groups that has the model.
 * Unknown models and models of other groups differ (V 0): 404 and 403.
 */
export function resolveTarget(catalog: Catalog, key: Key, name: string): TargetResult {
  if (key.allowedModels && !key.allowedModels.some((pattern) => matchesGlob(pattern, name)))
    return { error: notAllowed(name) };
  for (const group of videoGroupsOf(catalog, key)) {
    const model = catalog.resolve(group.id, name);
    if (!model) continue;
    return { target: { group, model, sheet: sheetOf(group.variant, model.line.overrides, name) } };
  }
  const isKnown = catalog
    .groups()
    .some(({ id, style }) => style === 'video' && catalog.resolve(id, name) !== undefined);
  return { error: isKnown ? notAllowed(name) : notFound(name) };
}

const notFound = (name: string): ApiError =>
  fail('model_not_found', `model: "${name.slice(0, 100)}" is not a video model of this service.`, {
    param: 'model',
    model: name,
  });
const notAllowed = (name: string): ApiError =>
  fail('model_not_allowed', `model: this API key may not use "${name.slice(0, 100)}".`, {
    param: 'model',
    model: name,
  });

/** The video prices of a model in force now. A model without one is not sold. */
export function videoRates({ model, sheet }: VideoTarget, now: number): Rates {
  const price = priceAt(model.line, now);
  const rates = price && parseRates(price.rates);
  if (!price || !rates || videoRateOf(rates, '', false, { unit: sheet.unit, hasAudio: true }) === undefined)
    throw failAt('model_not_allowed', 'model', `"${model.name}" has no video price; ask the operator to set one.`);
  return rates;
}
