/** Bodies of create requests for video tasks as JSON Schema, derived from the sheets of the variants (V 4.1, V 4.2, V 4.7). */
import {
  type AddressForm,
  CONTENT_ITEMS,
  EXCLUSIVE_PARAMETERS,
  EXCLUSIVE_VIDEOS_FIELDS,
  type IntegerRule,
  MEDIA_ITEMS,
  type MediaItemRule,
  type ParameterRule,
  PIXEL_SIZES,
  TEXT_ITEM,
  VARIANT_SHEETS,
  VIDEO_PARAMETERS,
  VIDEO_VARIANTS,
  type VideoParameter,
  type VideoVariant,
} from '../../rules/index.ts';
import { type Schema, type Schemas, TEXT } from './schema.ts';

const MIB = 2 ** 20;
const closed = (properties: Schemas, required: readonly string[], more: Schema = {}): Schema => ({
  ...{ type: 'object', properties, required, additionalProperties: false },
  ...more,
});
const excludes = (pairs: readonly (readonly [string, string])[]): Schema => ({
  allOf: pairs.map((required) => ({ not: { required } })),
});

const textSchema = (description: string): Schema => ({ ...TEXT, minLength: 1, description });
const MODEL = textSchema('public name of a video model');

export const taskBodySchema = (): Schema =>
  closed(
    { model: MODEL, content: contentSchema(), ...parameterSchemas() },
    ['model', 'content'],
    excludes(EXCLUSIVE_PARAMETERS),
  );

export function videosBodySchema(): Schema {
  const { duration } = VARIANT_SHEETS.A.parameters;
  const ownFields = {
    prompt: textSchema('becomes a text item; not with a text item in `content`'),
    seconds: {
      anyOf: [{ type: 'integer' }, { type: 'string', pattern: '^-?[0-9]+$' }],
      description: `length as a number or text; otherwise as \`duration\`${duration.kind === 'integer' ? `: ${integerText(duration)}` : ''}`,
    },
    size: {
      type: 'string',
      enum: Object.values(PIXEL_SIZES).flatMap((sizes) => Object.values(sizes).map((size) => size.join('x'))),
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
  if (form === 'asset') return '`asset://<asset_id>`';
  if (form === 'character') return '`asset://<char_id>`';
  return byVariant((variant) => {
    if (kind === 'video') return undefined;
    const { formats, maxBytes } = VARIANT_SHEETS[variant].inlineMedia[kind];
    return `\`data:${kind}/<format>;base64,...\` with the format ${formats.join(', ')} and at most ${maxBytes} bytes (${(maxBytes / MIB).toFixed(0)} MiB)`;
  });
}

/** Without the parameters that no variant accepts. */
const parameterSchemas = (): Record<string, Schema> =>
  Object.fromEntries(
    VIDEO_PARAMETERS.flatMap((name) => {
      const rules = VIDEO_VARIANTS.map((variant) => VARIANT_SHEETS[variant].parameters[name]).filter(isAccepted);
      const [first] = rules;
      if (first === undefined) return [];
      const description = byVariant((variant) => ruleText(VARIANT_SHEETS[variant].parameters[name], variant));
      return [[name, { ...ruleSchema(name, first, rules), ...(description && { description }) }]];
    }),
  );

const isAccepted = ({ kind }: ParameterRule): boolean => kind !== 'unsupported' && kind !== 'rejected';

/** What some variant accepts. */
function ruleSchema(name: VideoParameter, rule: ParameterRule, rules: readonly ParameterRule[]): Schema {
  switch (rule.kind) {
    case 'integer':
      return integerSchema(rules.filter((other) => other.kind === 'integer'));
    case 'boolean':
      return { type: 'boolean' };
    case 'offered':
      return {
        type: 'string',
        enum: rule.vocabulary.filter((word) =>
          VIDEO_VARIANTS.some((variant) => offeredBy(variant, rule.capability).includes(word)),
        ),
      };
    case 'word':
      return { type: 'string', enum: rule.accepted };
    case 'public-url':
      return { type: 'string', format: 'uri' };
    case 'tools':
      return { type: 'array', maxItems: rule.maxItems, items: closed({ type: { enum: rule.types } }, ['type']) };
    default:
      throw new Error(`no variant accepts ${name}`);
  }
}

const offeredBy = (variant: VideoVariant, capability: 'resolutions' | 'ratios'): readonly string[] =>
  VARIANT_SHEETS[variant][capability];

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
function ruleText(rule: ParameterRule, variant: VideoVariant): string | undefined {
  if (rule.kind === 'integer') return integerText(rule);
  if (rule.kind === 'offered') return `${offeredBy(variant, rule.capability).join(', ')}, if the model offers it`;
  if (rule.kind === 'public-url') return 'a public HTTPS URL';
  return isAccepted(rule) ? undefined : 'not supported';
}

const integerText = ({ min, max, unit, automatic }: IntegerRule): string =>
  `${min} to ${max}${unit ? ` ${unit}` : ''}${automatic?.isSupported ? `, or ${automatic.value} to let the model choose` : ''}`;

/** One text for variants that have the same, each with the names of its variants when they differ. */
function byVariant(textOf: (variant: VideoVariant) => string | undefined): string {
  const texts = Map.groupBy(VIDEO_VARIANTS, textOf);
  if (texts.size === 1) return [...texts.keys()][0] ?? '';
  return [...texts].map(([text = 'supported', variants]) => `${variants.join(', ')}: ${text}`).join('; ');
}
