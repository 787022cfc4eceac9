/**
 * Bodies of create requests for video tasks as JSON Schema, derived from the sheets of the models (V 4.1, V 4.2,
 * V 4.7).
 */
import {
  type AddressForm,
  CONTENT_ITEMS,
  EXCLUSIVE_PARAMETERS,
  EXCLUSIVE_VIDEOS_FIELDS,
  type IntegerRule,
  MEDIA_ITEMS,
  type MediaItemRule,
  type ParameterRule,
  RESOLUTION_WORDS,
  SHEET_NAMES,
  type SheetName,
  sheetMembers,
  TEXT_ITEM,
  VIDEO_SHEETS,
  type VideoSheet,
} from '../../src/rules/index.ts';
import { type Schema, type Schemas, TEXT } from './schema.ts';

const MIB = 2 ** 20;
const closed = (properties: Schemas, required: readonly string[], more: Schema = {}): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
  ...more,
});
const excludes = (pairs: readonly (readonly [string, string])[]): Schema => ({
  allOf: pairs.map((required) => ({ not: { required } })),
});

const textSchema = (description: string): Schema => ({ ...TEXT, minLength: 1, description });
const MODEL = textSchema('public name of a video model');

const SHEETS: readonly VideoSheet[] = Object.values(VIDEO_SHEETS);

export const taskBodySchema = (): Schema =>
  closed(
    { model: MODEL, content: contentSchema(), ...parameterSchemas() },
    ['model', 'content'],
    excludes(EXCLUSIVE_PARAMETERS),
  );

export function videosBodySchema(): Schema {
  const ownFields = {
    prompt: textSchema('becomes a text item; not with a text item in `content`'),
    seconds: {
      anyOf: [{ type: 'integer' }, { type: 'string', pattern: '^-?[0-9]+$' }],
      description: `length as a number or text; otherwise as \`duration\`: ${durationText()}`,
    },
    size: {
      type: 'string',
      enum: sizeTexts(),
      description: 'becomes `resolution` and `ratio`, if the model offers them',
    },
    input_reference: {
      anyOf: [TEXT, closed({ image_url: TEXT }, ['image_url'])],
      description: 'becomes an image item with role `first_frame`',
    },
  };
  return closed({ model: MODEL, ...ownFields, content: contentSchema(), ...parameterSchemas() }, ['model'], {
    anyOf: [{ required: ['prompt'] }, { required: ['content'] }],
    ...excludes([...EXCLUSIVE_PARAMETERS, ...EXCLUSIVE_VIDEOS_FIELDS]),
  });
}

const durationText = (): string => bySheet((name) => integerText(VIDEO_SHEETS[name].parameters.duration));

const sizeTexts = (): string[] => {
  const rows = SHEETS.flatMap(({ sizes }) => RESOLUTION_WORDS.map((word) => Object.values(sizes[word] ?? {})));
  return [...new Set(rows.flat().map((size) => size.join('x')))];
};

const contentSchema = (): Schema => ({
  type: 'array',
  minItems: CONTENT_ITEMS.min,
  maxItems: CONTENT_ITEMS.max,
  items: {
    oneOf: [
      closed({ type: { const: TEXT_ITEM }, [TEXT_ITEM]: textSchema('the prompt') }, ['type', TEXT_ITEM]),
      ...Object.entries<MediaItemRule>(MEDIA_ITEMS).map(([type, rule]) => mediaItemSchema(type, rule)),
    ],
  },
});

function mediaItemSchema(type: string, rule: MediaItemRule): Schema {
  const url = { type: 'string', description: rule.addresses.map((form) => addressText(form, rule)).join('; ') };
  const role = {
    enum: rule.roles,
    ...(rule.loneRole && { description: `a single item without a role counts as \`${rule.loneRole}\`` }),
  };
  const required = ['type', type, ...(rule.loneRole ? [] : ['role'])];
  return closed({ type: { const: type }, [type]: closed({ url }, ['url']), role }, required);
}

function addressText(form: AddressForm, { kind }: MediaItemRule): string {
  if (form === 'https') return 'a public HTTPS URL';
  if (form === 'file') return 'the id of a file from `/v1/files`';
  if (form === 'asset') return '`asset://<asset_id>`';
  if (form === 'character') return '`asset://<char_id>`';
  return bySheet((name) => {
    if (kind === 'video') return undefined;
    const { formats, maxBytes } = VIDEO_SHEETS[name].inlineMedia[kind];
    const size = `${maxBytes} bytes (${(maxBytes / MIB).toFixed(0)} MiB)`;
    return `\`data:${kind}/<format>;base64,...\` with the format ${formats.join(', ')} and at most ${size}`;
  });
}

/** Without the parameters that no sheet accepts. */
const parameterSchemas = (): Record<string, Schema> =>
  Object.fromEntries(
    [...new Set(SHEETS.flatMap(sheetMembers))].flatMap((name) => {
      const rules = SHEETS.flatMap(({ parameters }) => parameters[name] ?? []).filter(isAccepted);
      const [first] = rules;
      if (first === undefined) return [];
      const description = bySheet((sheet) => ruleText(VIDEO_SHEETS[sheet], name));
      return [[name, { ...ruleSchema(name, first, rules), ...(description && { description }) }]];
    }),
  );

const isAccepted = ({ kind }: ParameterRule): boolean => kind !== 'unsupported' && kind !== 'rejected';

/** What some sheet accepts. */
function ruleSchema(name: string, rule: ParameterRule, rules: readonly ParameterRule[]): Schema {
  switch (rule.kind) {
    case 'integer':
      return integerSchema(rules.filter((other) => other.kind === 'integer'));
    case 'boolean':
      return { type: 'boolean' };
    case 'offered':
      return {
        type: 'string',
        enum: [...new Set(SHEETS.flatMap((sheet): readonly string[] => sheet[rule.capability]))],
      };
    case 'word':
      return { type: 'string', enum: rule.accepted };
    case 'text':
      return { type: 'string', minLength: 1, maxLength: rule.maxLength };
    case 'public-url':
      return { type: 'string', format: 'uri' };
    case 'tools':
      return { type: 'array', maxItems: rule.maxItems, items: closed({ type: { enum: rule.types } }, ['type']) };
    default:
      throw new Error(`no sheet accepts ${name}`);
  }
}

function integerSchema(rules: readonly IntegerRule[]): Schema {
  const range = {
    type: 'integer',
    minimum: Math.min(...rules.map(({ min }) => min)),
    maximum: Math.max(...rules.map(({ max }) => max)),
  };
  const automatic = rules.find((rule) => rule.automatic?.isSupported)?.automatic;
  return automatic ? { anyOf: [range, { const: automatic.value }] } : range;
}

/** Undefined where there is nothing to add to the schema. */
function ruleText(sheet: VideoSheet, name: string): string | undefined {
  const rule = sheet.parameters[name];
  if (rule === undefined) return 'unknown';
  if (rule.kind === 'integer') return integerText(rule);
  if (rule.kind === 'offered') return `${sheet[rule.capability].join(', ')}, if the model offers it`;
  if (rule.kind === 'public-url') return 'a public HTTPS URL';
  return isAccepted(rule) ? undefined : 'not supported';
}

function integerText({ min, max, unit, automatic }: IntegerRule): string {
  const range = `${min} to ${max}${unit ? ` ${unit}` : ''}`;
  return automatic?.isSupported ? `${range}, or ${automatic.value} to let the model choose` : range;
}

/** One text for sheets that have the same, each with the names of its sheets when they differ. */
function bySheet(textOf: (name: SheetName) => string | undefined): string {
  const texts = Map.groupBy(SHEET_NAMES, textOf);
  if (texts.size === 1) return [...texts.keys()][0] ?? '';
  return [...texts].map(([text = 'supported', names]) => `${names.join(', ')}: ${text}`).join('; ');
}
