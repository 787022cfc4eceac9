/**
 * Image requests (G 2, G 4.8, G 4.9): the fields with their rules, sizes, files, and the tokens that admission
 * reserves.
 */
const MIB = 2 ** 20;

/** What a model accepts of the images API. `any` leaves the values to its provider. */
export interface ImageCapabilities {
  /** Sizes beside `auto` and those in pixels, such as `2K`. */
  readonly imageSizes: readonly string[] | 'any';
  /** Largest width x height. */
  readonly imagePixels: number | 'any';
  readonly imageQualities: readonly string[] | 'any';
  readonly imageFormats: readonly string[] | 'any';
  readonly imageBackgrounds: readonly string[] | 'any';
  readonly imageModerations: readonly string[] | 'any';
  readonly maxImages: number | 'any';
}

/** Largest width x height (G 4.9 r2). */
export const PIXEL_BUDGET = 8_294_400;

export type ImageRatio = '1:1' | '16:9' | '9:16' | '4:3' | '3:4';
/** Recommended sizes (G 4.9). Other sizes within the budget pass; the provider applies its own rules to them. */
export const IMAGE_PRESETS: Readonly<Record<'1K' | '2K' | '4K', Readonly<Record<ImageRatio, string>>>> = {
  '1K': { '1:1': '1024x1024', '16:9': '1280x720', '9:16': '720x1280', '4:3': '1024x768', '3:4': '768x1024' },
  '2K': { '1:1': '1440x1440', '16:9': '2048x1152', '9:16': '1152x2048', '4:3': '1664x1248', '3:4': '1248x1664' },
  '4K': { '1:1': '2880x2880', '16:9': '3840x2160', '9:16': '2160x3840', '4:3': '3264x2448', '3:4': '2448x3264' },
};
export const STANDARD_IMAGE_SIZES = ['auto', '1024x1024', '1536x1024', '1024x1536'] as const;

/** What the contract says of its models (G 2, G 4.9). */
export const CONTRACT_IMAGES = {
  imageSizes: [],
  imagePixels: PIXEL_BUDGET,
  imageQualities: ['low', 'medium', 'high', 'auto'],
  imageFormats: ['png', 'jpeg', 'webp'],
  imageBackgrounds: ['transparent', 'opaque', 'auto'],
  imageModerations: ['auto', 'low'],
  maxImages: 'any',
} as const satisfies ImageCapabilities;

/** Of a model that no row knows. */
export const ANY_IMAGES = Object.fromEntries(Object.keys(CONTRACT_IMAGES).map((name) => [name, 'any'])) as {
  readonly [name in keyof ImageCapabilities]: 'any';
};

/** A value that only a provider knows. It becomes part of a usage record, so that its form is limited. */
export const OPEN_IMAGE_VALUE = /^[\w.:*-]{1,32}$/;

/** The rule of one field. `suggestions` are the nearest valid values of words that other APIs use. */
export type ImageFieldRule = { readonly required?: true } & (
  | { readonly kind: 'text' | 'boolean' | 'size' }
  | { readonly kind: 'integer'; readonly min: number; readonly max?: number | 'maxImages' }
  | {
      readonly kind: 'choice';
      /** The capability that lists the values. */
      readonly values: 'imageQualities' | 'imageFormats' | 'imageBackgrounds' | 'imageModerations';
      readonly suggestions: Readonly<Record<string, string>>;
    }
);

/** Fields that generations and edits share. Fields that are not listed pass to the provider as they are. */
export const IMAGE_FIELDS = {
  prompt: { kind: 'text', required: true },
  size: { kind: 'size' },
  quality: {
    kind: 'choice',
    values: 'imageQualities',
    suggestions: { hd: 'high', best: 'high', ultra: 'high', standard: 'medium', normal: 'medium', draft: 'low' },
  },
  output_format: {
    kind: 'choice',
    values: 'imageFormats',
    suggestions: { jpg: 'jpeg', 'image/jpeg': 'jpeg', 'image/png': 'png', 'image/webp': 'webp' },
  },
  output_compression: { kind: 'integer', min: 0, max: 100 },
  background: { kind: 'choice', values: 'imageBackgrounds', suggestions: { none: 'transparent' } },
  moderation: { kind: 'choice', values: 'imageModerations', suggestions: { none: 'low', off: 'low' } },
  n: { kind: 'integer', min: 1, max: 'maxImages' },
  user: { kind: 'text' },
  stream: { kind: 'boolean' },
  partial_images: { kind: 'integer', min: 0, max: 3 },
} as const satisfies Record<string, ImageFieldRule>;
export type ImageField = keyof typeof IMAGE_FIELDS;

/** Fields that hold only together with some output formats. Without `value` the rule holds for every value. */
export const IMAGE_COMBINATIONS = [
  { field: 'output_compression', formats: ['jpeg', 'webp'], why: 'png files are lossless' },
  { field: 'background', value: 'transparent', formats: ['png', 'webp'], why: 'jpeg files have no transparency' },
] as const satisfies readonly {
  readonly field: ImageField;
  readonly value?: string;
  readonly formats: readonly string[];
  readonly why: string;
}[];
/** What a provider makes when a request names no output format. */
export const DEFAULT_OUTPUT_FORMAT = 'png';

/** Removed from requests: images always come as base64, and providers reject the field (G 2). */
export const REMOVED_IMAGE_FIELD = 'response_format';

/** What becomes of a field when an image request is converted for a model that draws inside a conversation. */
export interface ConvertedImageField {
  readonly support: 'kept' | 'changed' | 'dropped' | 'rejected';
  /** Values that mean the same as no value. */
  readonly neutral?: readonly (string | number)[];
  /** Values whose loss a caller must not have to look for in a header. */
  readonly rejected?: readonly string[];
}
export const CONVERTED_IMAGE_FIELDS: Readonly<Record<ImageField, ConvertedImageField>> = {
  prompt: { support: 'kept' },
  // An aspect ratio and a tier; other sizes are rejected.
  size: { support: 'changed', neutral: ['auto'] },
  quality: { support: 'dropped', neutral: ['auto'] },
  // The provider chooses the format, and the gateway recodes no image. The response names the format.
  output_format: { support: 'dropped' },
  output_compression: { support: 'dropped' },
  background: { support: 'dropped', neutral: ['auto'], rejected: ['transparent'] },
  moderation: { support: 'dropped', neutral: ['auto'] },
  n: { support: 'rejected', neutral: [1] },
  user: { support: 'dropped' },
  stream: { support: 'kept' },
  partial_images: { support: 'dropped', neutral: [0] },
};

/** Files of an edit. A mask marks the area to edit by its transparency, which jpeg does not have. */
export const IMAGE_FILES = {
  maxImages: 16,
  maxBytes: 50 * MIB,
  types: { image: ['image/png', 'image/jpeg', 'image/webp'], mask: ['image/png', 'image/webp'] },
} as const;

/**
 * Output tokens of a 1024x1024 image, by the price tables; they grow with the pixels. The last two are assumed: `high`
 * to `medium` gives their factor.
 */
const TOKENS_PER_MEGAPIXEL: Readonly<Record<string, number>> = {
  low: 272,
  medium: 1056,
  high: 4160,
  auto: 4160,
  xhigh: 16_640,
  max: 66_560,
};
const DEAREST_QUALITY = 66_560;
/** The largest picture that a provider sells: 4096x4096. */
const MOST_PIXELS = 2 ** 24;
/** Frames of a moving picture whose request names no number. */
export const DEFAULT_FRAMES = 9;
const TOKENS_PER_PARTIAL_IMAGE = 100;
/** The largest size that `auto` results in. */
const AUTO_SIZE = '1536x1024';
/** Input tokens of one image at high fidelity. */
export const TOKENS_PER_INPUT_IMAGE = 8_192;

/**
 * Output tokens of one image of a generate-content model: an ordinary one, and the largest one with the thoughts before
 * it.
 */
export const TOKENS_PER_CONVERTED_IMAGE = { usual: 1_290, max: 8_192 } as const;

/** Output tokens of one image. Unknown qualities and sizes count as the most expensive ones. */
export function imageTokens({ size, quality, partialImages, format }: ImageLook): number {
  const pixels = pixelsOf(size === 'auto' ? AUTO_SIZE : size) ?? tierPixels(size) ?? MOST_PIXELS;
  const perMegapixel = Object.hasOwn(TOKENS_PER_MEGAPIXEL, quality) ? TOKENS_PER_MEGAPIXEL[quality] : undefined;
  const frames = format === 'gif' ? DEFAULT_FRAMES : 1;
  const each = Math.ceil(((perMegapixel ?? DEAREST_QUALITY) * pixels) / MIB);
  return each * frames + partialImages * TOKENS_PER_PARTIAL_IMAGE;
}
export interface ImageLook {
  readonly size: string;
  readonly quality: string;
  readonly partialImages: number;
  readonly format?: string | undefined;
}

/** Width x height; undefined unless the text has the form WxH. */
export function pixelsOf(size: string): number | undefined {
  const [, width, height] = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(size) ?? [];
  return width === undefined ? undefined : Number(width) * Number(height);
}

/** Of a size such as `2K`, which is a square of 2048 pixels or has as many. */
const tierPixels = (size: string): number | undefined =>
  /^[1-4]K$/i.test(size) ? (1024 * Number.parseInt(size, 10)) ** 2 : undefined;
