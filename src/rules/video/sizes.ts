/** Resolutions, ratios and pixel sizes of videos (V 4.2, V 4.7). */

/** Words for resolutions of all sheets, from the smallest to the largest. */
export const RESOLUTION_WORDS = ['360p', '480p', '512p', '540p', '720p', '768p', '1080p', '1440p', '2k', '4k'] as const;
export type Resolution = (typeof RESOLUTION_WORDS)[number];

/** Those of V 4.2. A word that no size of a sheet has is unknown to its models. */
export const RESOLUTIONS = ['480p', '720p', '1080p', '4k'] as const;

const CONTRACT_RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'] as const;
const FIXED_RATIOS = [...CONTRACT_RATIOS, '3:2', '2:3', '5:4', '4:5', '2:1', '1:2', '9:21'] as const;
export type FixedRatio = (typeof FIXED_RATIOS)[number];

/** `adaptive` leaves the ratio to the model. */
export const RATIOS = [...CONTRACT_RATIOS, 'adaptive'] as const;
export const RATIO_WORDS = [...FIXED_RATIOS, 'adaptive'] as const;
export type Ratio = (typeof RATIO_WORDS)[number];

/** Width and height in pixels. */
export type PixelSize = readonly [width: number, height: number];

export type SizeTable = Readonly<Partial<Record<Resolution, Readonly<Partial<Record<FixedRatio, PixelSize>>>>>>;
type ContractSizes = Readonly<
  Record<(typeof RESOLUTIONS)[number], Readonly<Record<(typeof CONTRACT_RATIOS)[number], PixelSize>>>
>;

/** `1280x720`, as `/v1/videos` and the configuration file write sizes. */
export const parseSize = (text: string): PixelSize => text.split('x').map(Number) as never;

export const PIXEL_SIZES: ContractSizes = {
  '480p': {
    '16:9': [864, 496],
    '4:3': [752, 560],
    '1:1': [640, 640],
    '3:4': [560, 752],
    '9:16': [496, 864],
    '21:9': [992, 432],
  },
  '720p': {
    '16:9': [1280, 720],
    '4:3': [1112, 834],
    '1:1': [960, 960],
    '3:4': [834, 1112],
    '9:16': [720, 1280],
    '21:9': [1470, 630],
  },
  '1080p': {
    '16:9': [1920, 1080],
    '4:3': [1664, 1248],
    '1:1': [1440, 1440],
    '3:4': [1248, 1664],
    '9:16': [1080, 1920],
    '21:9': [2206, 946],
  },
  '4k': {
    '16:9': [3840, 2160],
    '4:3': [3326, 2494],
    '1:1': [2880, 2880],
    '3:4': [2494, 3326],
    '9:16': [2160, 3840],
    '21:9': [4398, 1886],
  },
};

/** Sizes that OpenAI's Videos API knows and no model here offers (V 4.7). */
export const UNOFFERED_SIZES: ReadonlySet<string> = new Set(['1792x1024', '1024x1792']);

/**
 * Pixels of one frame. With `adaptive`, no ratio or one that the table lacks: of the largest frame of the resolution.
 */
export function maxArea(resolution: Resolution, ratio: Ratio | undefined, table: SizeTable = PIXEL_SIZES): number {
  const sizes = table[resolution] ?? {};
  const size = ratio === undefined || ratio === 'adaptive' ? undefined : sizes[ratio];
  return Math.max(...(size ? [size] : Object.values(sizes)).map(([width, height]) => width * height));
}

/** Undefined for words that are not in the table, whoever wrote them. */
export function sizeText(resolution = '', ratio = '', table: SizeTable = PIXEL_SIZES): string | undefined {
  const size: unknown = table[resolution as Resolution]?.[ratio as FixedRatio];
  return Array.isArray(size) ? size.join('x') : undefined;
}

/** The resolution and ratio of a size text; undefined for a size that is not in the table. */
export function sizeNamed(text: string, table: SizeTable = PIXEL_SIZES) {
  for (const resolution of RESOLUTION_WORDS)
    for (const ratio of FIXED_RATIOS) if (sizeText(resolution, ratio, table) === text) return { resolution, ratio };
  return undefined;
}

/** Every word that a table has: one that a model lacks is unsupported, any other is unknown. */
export const sizeWords = (table: SizeTable) => ({
  resolutions: RESOLUTION_WORDS.filter((word) => table[word] !== undefined),
  ratios: RATIO_WORDS.filter((word) => word === 'adaptive' || Object.values(table).some((row) => word in row)),
});
