/** Resolutions, ratios and pixel sizes of videos (V 4.2, V 4.7). */

/** From the smallest to the largest; the order decides which resolution is the largest of a model. */
export const RESOLUTIONS = ['480p', '720p', '1080p', '4k'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

const FIXED_RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'] as const;
export type FixedRatio = (typeof FIXED_RATIOS)[number];

/** `adaptive` leaves the ratio to the model. */
export const RATIOS = [...FIXED_RATIOS, 'adaptive'] as const;
export type Ratio = (typeof RATIOS)[number];

/** Width and height in pixels. */
export type PixelSize = readonly [width: number, height: number];

export const PIXEL_SIZES: Readonly<Record<Resolution, Readonly<Record<FixedRatio, PixelSize>>>> = {
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

/** Pixels of one frame. With `adaptive` or no ratio: of the largest frame of the resolution. */
export function maxArea(resolution: Resolution, ratio: Ratio | undefined): number {
  const sizes = PIXEL_SIZES[resolution];
  const possible = ratio === undefined || ratio === 'adaptive' ? Object.values(sizes) : [sizes[ratio]];
  return Math.max(...possible.map(([width, height]) => width * height));
}

/** `1280x720`, as `/v1/videos` writes sizes. */
export const sizeText = (resolution: Resolution, ratio: FixedRatio): string => PIXEL_SIZES[resolution][ratio].join('x');

export interface NamedSize {
  readonly resolution: Resolution;
  readonly ratio: FixedRatio;
}

const BY_TEXT: ReadonlyMap<string, NamedSize> = new Map(
  RESOLUTIONS.flatMap((resolution) =>
    FIXED_RATIOS.map((ratio) => [sizeText(resolution, ratio), { resolution, ratio }] as const),
  ),
);

/** The resolution and ratio of a size text; undefined for a size that is not in the table. */
export const sizeNamed = (text: string): NamedSize | undefined => BY_TEXT.get(text);
