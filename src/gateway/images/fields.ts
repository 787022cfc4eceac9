/**
 * Check of the fields that image generations and edits share.
 * An error names the field, its rule and the nearest valid value.
 */
import { type ApiError, failAt } from '../../core/index.ts';
import * as rules from '../../rules/index.ts';

/** What a valid request asks for; `auto` where it leaves the choice to the provider. */
export interface ImageSettings {
  readonly size: string;
  readonly quality: string;
  readonly format: string | undefined;
  readonly count: number;
  readonly partialImages: number;
  readonly isStream: boolean;
  readonly prompt: string;
  readonly promptBytes: number;
}
type Field = rules.ImageField;
/** As a request has them; undefined or null where it does not set one. */
export type ImageValues = { readonly [F in Field]?: unknown };

export const imageValues = (read: (field: Field) => unknown): ImageValues =>
  Object.fromEntries(FIELDS.map(([field]) => [field, read(field)]));

/** All texts that a request may have. */
export const IMAGE_TEXTS = [...Object.keys(rules.IMAGE_FIELDS), 'model', rules.REMOVED_IMAGE_FIELD];

const FIELDS = Object.entries(rules.IMAGE_FIELDS) as [Field, rules.ImageFieldRule][];

export function checkImageFields(given: ImageValues, model: rules.ImageCapabilities): ImageSettings {
  const values = new Map<Field, unknown>();
  for (const [field, rule] of FIELDS) {
    const value = given[field] ?? undefined;
    if (value !== undefined) checkValue(field, rule, value, model);
    else if (rule.required) throw invalid(field, 'expected a text that is not empty; the field is missing.');
    values.set(field, value);
  }
  checkCombinations(values, model);
  const format = values.get('output_format');
  return {
    size: String(values.get('size') ?? 'auto'),
    quality: String(values.get('quality') ?? 'auto'),
    format: format === undefined ? undefined : String(format),
    count: Number(values.get('n') ?? 1),
    partialImages: Number(values.get('partial_images') ?? 0),
    isStream: values.get('stream') === true,
    prompt: String(values.get('prompt')),
    promptBytes: Buffer.byteLength(String(values.get('prompt'))),
  };
}

function checkValue(field: Field, rule: rules.ImageFieldRule, value: unknown, model: rules.ImageCapabilities): void {
  switch (rule.kind) {
    case 'text':
      if (typeof value !== 'string') throw invalid(field, `expected a string, found ${shown(value)}.`);
      if (value === '' && rule.required) throw invalid(field, 'expected a text that is not empty.');
      return;
    case 'boolean':
      if (typeof value !== 'boolean') throw invalid(field, `expected true or false, found ${shown(value)}.`);
      return;
    case 'integer': {
      const most = rule.max === 'maxImages' ? model.maxImages : rule.max;
      return checkInteger(field, { min: rule.min, max: most === 'any' ? undefined : most }, value);
    }
    case 'choice':
      return checkChoice(field, rule, value, model[rule.values]);
    case 'size':
      return checkSize(value, model);
  }
}

type ChoiceRule = Extract<rules.ImageFieldRule, { kind: 'choice' }>;

function checkChoice(field: Field, rule: ChoiceRule, value: unknown, values: readonly string[] | 'any'): void {
  if (typeof value === 'string' && (values === 'any' ? rules.OPEN_IMAGE_VALUE.test(value) : values.includes(value)))
    return;
  if (values === 'any') throw invalid(field, `expected a word, found ${shown(value)}.`);
  const near = nearest(values, rule.suggestions, value);
  throw invalid(field, `expected ${either(values)}, found ${shown(value)}; use "${near}".`);
}

function checkInteger(field: Field, { min, max }: { min: number; max: number | undefined }, value: unknown): void {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= (max ?? Number.MAX_SAFE_INTEGER)) return;
  const range = max === undefined ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`;
  const near = Math.min(Math.max(Math.round(Number(value)) || min, min), max ?? Number.MAX_SAFE_INTEGER);
  throw invalid(field, `expected ${range}, found ${shown(value)}; use ${near}.`);
}

/** G 4.9: `auto` or WxH within the pixel budget, and what else the model has. */
function checkSize(value: unknown, { imageSizes, imagePixels }: rules.ImageCapabilities): void {
  const word = typeof value === 'string' ? value : undefined;
  if (word === 'auto' || (word !== undefined && imageSizes !== 'any' && imageSizes.includes(word))) return;
  const pixels = word === undefined ? undefined : rules.pixelsOf(word);
  if (pixels === undefined) {
    if (imageSizes === 'any' && rules.OPEN_IMAGE_VALUE.test(word ?? '')) return;
    const [, width, height] = /^\s*(\d{1,5})\D{1,3}(\d{1,5})\s*$/.exec(String(value)) ?? [];
    const near = width && height && rules.pixelsOf(`${+width}x${+height}`) ? `${+width}x${+height}` : 'auto';
    const others = imageSizes === 'any' || imageSizes.length === 0 ? '' : ` ${imageSizes.join(', ')},`;
    throw invalid(
      'size',
      `expected auto,${others} or width and height such as 1024x1024, found ${shown(value)}; use "${near}".`,
    );
  }
  if (imagePixels === 'any' || pixels <= imagePixels) return;
  const { size, ratio } = largestPreset(String(value));
  const advice =
    (rules.pixelsOf(size) ?? 0) <= imagePixels
      ? `use "${size}", the largest preset of the ratio ${ratio}`
      : 'use "auto"';
  throw invalid(
    'size',
    'the requested resolution exceeds the current pixel budget: ' +
      `${value} is ${grouped(pixels)} pixels, at most ${grouped(imagePixels)} are possible; ${advice}.`,
  );
}

function largestPreset(size: string): { size: string; ratio: string } {
  const ratioOf = (text: string): number => {
    const [width = 1, height = 1] = text.split(/[x:]/).map(Number);
    return Math.log(width / height);
  };
  const distances = Object.entries(rules.IMAGE_PRESETS['4K']).map(([ratio, preset]) => ({
    ratio,
    size: preset,
    distance: Math.abs(ratioOf(ratio) - ratioOf(size)),
  }));
  return distances.reduce((best, preset) => (preset.distance < best.distance ? preset : best));
}

/**
 * The provider alone knows the format that it makes by default,
 * and what goes with formats beyond those of the contract.
 */
function checkCombinations(values: ReadonlyMap<Field, unknown>, { imageFormats }: rules.ImageCapabilities): void {
  const given = values.get('output_format');
  if (given === undefined && imageFormats === 'any') return;
  const format = String(given ?? rules.DEFAULT_OUTPUT_FORMAT);
  if (!isContractFormat(format)) return;
  for (const rule of rules.IMAGE_COMBINATIONS) {
    const value = values.get(rule.field);
    const applies = 'value' in rule ? value === rule.value : value !== undefined;
    if (!applies || (rule.formats as readonly string[]).includes(format)) continue;
    const what = 'value' in rule ? `${rule.value} is possible only` : 'possible only';
    throw invalid(
      rule.field,
      `${what} with output_format ${either(rule.formats)}, and the request has ${format}: ${rule.why}; ` +
        `set output_format to "${rule.formats[0]}" or leave ${rule.field} out.`,
    );
  }
}

export const isContractFormat = (format: string): boolean =>
  (rules.CONTRACT_IMAGES.imageFormats as readonly string[]).includes(format);

/** The valid value that the caller most likely meant: a known synonym, or the word with the most letters in common. */
function nearest(values: readonly string[], suggestions: ChoiceRule['suggestions'], value: unknown): string {
  const word = String(value).trim().toLowerCase().slice(0, MAX_SHOWN);
  const meant = Object.hasOwn(suggestions, word) ? suggestions[word] : undefined;
  if (meant !== undefined && values.includes(meant)) return meant;
  const score = (candidate: string): number => {
    const common = [...candidate].filter((letter) => word.includes(letter)).length;
    return (word.startsWith(candidate) || candidate.startsWith(word) ? 1 : 0) + common / candidate.length;
  };
  return values.reduce((best, candidate) => (score(candidate) > score(best) ? candidate : best), values[0] ?? '');
}

const MAX_SHOWN = 40;
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}...` : text;
}
const grouped = (count: number): string => count.toLocaleString('en-US');
const either = (values: readonly string[]): string =>
  values.length < 2 ? values.join() : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;

export const invalid = (field: string, rule: string): ApiError => failAt('invalid_value', field, `${rule}`);
