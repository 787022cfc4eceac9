/**
 * Decoder of an image request whose fields are valid: one user
 * message, and the image as the only modality (rules/images.ts).
 */
import * as rules from '../../rules/index.ts';
import type { ClientRequestHead } from '../codec.ts';
import type { HubImageSettings, HubRequest, JsonObject } from '../hub/types.ts';
import { settingsOfSize } from '../tools/images.ts';
import { compact, isGiven, needObject, needString, optional, readBoolean, unsupported } from '../wire/read.ts';

export function decodeRequest(value: unknown, head: ClientRequestHead): HubRequest {
  const body = needObject(value, 'body');
  const given = FIELDS.filter(([name, rule]) => hasEffect(rule, body[name]));
  for (const [name, rule] of given) checkConvertible(name, rule, body[name]);
  const dropped = given.filter(([, { support }]) => support === 'dropped').map(([name]) => name);
  const size = optional(body, 'size', needString);
  return {
    dialect: 'images',
    model: head.model ?? needString(body.model, 'model'),
    stream: optional(body, 'stream', readBoolean) ?? false,
    system: [],
    items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: needString(body.prompt, 'prompt') }] }],
    tools: [],
    toolChoice: { kind: 'auto' },
    reasoning: {},
    output: compact({ format: { kind: 'text' } as const, modalities: ['image'] as const, image: settingsFor(size) }),
    limits: {},
    sampling: {},
    cache: {},
    state: {},
    meta: {},
    unknown: [...dropped, ...unknownFields(body)],
    clientOptions: {},
  };
}

const FIELDS = Object.entries(rules.CONVERTED_IMAGE_FIELDS) as [rules.ImageField, rules.ConvertedImageField][];

const hasEffect = ({ neutral }: rules.ConvertedImageField, value: unknown): boolean =>
  isGiven(value) && !neutral?.includes(value as string | number);

function checkConvertible(
  name: rules.ImageField,
  { support, neutral = [], rejected }: rules.ConvertedImageField,
  value: unknown,
): void {
  if (support !== 'rejected' && !rejected?.includes(value as string)) return;
  const advice = neutral.map((one) => JSON.stringify(one)).join(' or ');
  unsupported(name, `this model cannot do ${JSON.stringify(value)}; use ${advice}, or leave the field out.`);
}

const unknownFields = (body: JsonObject): string[] =>
  Object.keys(body).filter(
    (name) => name !== 'model' && !Object.hasOwn(rules.IMAGE_FIELDS, name) && isGiven(body[name]),
  );

/** Fewer pixels would make the picture of the smallest tier more than twice as large as asked for. */
const MIN_PIXELS = 2 ** 19;

/**
 * Returns undefined where the provider chooses the size. Rejects a
 * size without an exact ratio, naming the nearest preset.
 */
function settingsFor(size: string | undefined): HubImageSettings | undefined {
  if (size === undefined || size === 'auto') return undefined;
  const [width, height] = edgesOf(size);
  const settings = width * height < MIN_PIXELS ? undefined : settingsOfSize(width, height);
  if (!settings)
    unsupported('size', `this model has no equivalent of ${size}; use "${nearestPreset(size)}", or "auto".`);
  const tier = Object.entries(rules.IMAGE_PRESETS).find(([, sizes]) => Object.values(sizes).includes(size))?.[0];
  return tier === undefined || tier === '1K' ? settings : { ...settings, tier };
}

const PRESETS: readonly string[] = [
  ...rules.STANDARD_IMAGE_SIZES.filter((size) => size !== 'auto'),
  ...Object.values(rules.IMAGE_PRESETS).flatMap((sizes) => Object.values(sizes)),
];

/** The ratio counts more than the number of pixels, because it decides what the picture shows. */
const RATIO_WEIGHT = 10;

function nearestPreset(size: string): string {
  const [width, height] = edgesOf(size);
  const distance = (preset: string): number => {
    const [wide, high] = edgesOf(preset);
    const [x, y] = [Math.log(wide / width), Math.log(high / height)];
    return RATIO_WEIGHT * Math.abs(x - y) + Math.abs(x + y);
  };
  return PRESETS.reduce((best, preset) => (distance(preset) < distance(best) ? preset : best));
}

function edgesOf(size: string): [width: number, height: number] {
  const [width = 0, height = 0] = size.split('x').map(Number);
  return [width, height];
}
