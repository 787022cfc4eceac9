/** The model of an image request that names none (G 2), on the native and on the converted path. */
import { type Catalog, capabilitiesFor, isUsable, type Model, type ModelLine, priceAt } from '../../catalog/index.ts';
import { isGlob } from '../../core/index.ts';
import { parseRates } from '../../ledger/index.ts';
import type { Caller } from '../caller.ts';
import { mayUse } from '../models/resolve.ts';

/**
 * One that the operator marked by its capabilities, else one with prices for images;
 * models without a price for text first, because others draw as a tool.
 */
export function defaultImageModel(catalog: Catalog, caller: Caller, now: number): string | undefined {
  const lines = namedLines(catalog, caller, now).filter(({ overrides }) => overrides.imageOutput !== false);
  const priced = lines.filter((line) => hasImagePrice(line, now));
  const line = lines.find(({ overrides }) => overrides.imageOutput) ?? priced.find((one) => !hasTextPrice(one, now));
  return (line ?? priced[0])?.pattern;
}

/** Whether requests of the images API for the model are converted: the operator says so, and the model can draw. */
export function isConvertedImageModel({ group }: Caller, model: Model): boolean {
  const { imagesEndpoint, imageOutput } = capabilitiesFor(group.style, model);
  return imagesEndpoint && imageOutput;
}

export const convertedImageModel = (catalog: Catalog, caller: Caller, now: number): string | undefined =>
  namedLines(catalog, caller, now).find((line) => {
    const { pattern: name, upstream } = line;
    return isConvertedImageModel(caller, { name, upstream: upstream ?? name, line });
  })?.pattern;

const namedLines = (catalog: Catalog, caller: Caller, now: number): ModelLine[] =>
  catalog
    .lines(caller.group.id)
    .filter((line) => !isGlob(line.pattern) && mayUse(caller, line.pattern) && isUsable(line, now));

function hasImagePrice(line: ModelLine, now: number): boolean {
  const { image_output, per_image } = ratesOf(line, now);
  return image_output !== undefined || per_image !== undefined;
}

const hasTextPrice = (line: ModelLine, now: number): boolean => ratesOf(line, now).output !== undefined;
const ratesOf = (line: ModelLine, now: number) => parseRates(priceAt(line, now)?.rates ?? {});
