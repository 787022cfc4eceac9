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

/** In the order of `FIXED_RATIOS`. */
const sizesOf = (text: string): Readonly<Record<FixedRatio, PixelSize>> =>
  Object.fromEntries(text.split(' ').map((size, n) => [FIXED_RATIOS[n], size.split('x').map(Number)])) as never;

export const PIXEL_SIZES: Readonly<Record<Resolution, Readonly<Record<FixedRatio, PixelSize>>>> = {
  '480p': sizesOf('864x496 752x560 640x640 560x752 496x864 992x432'),
  '720p': sizesOf('1280x720 1112x834 960x960 834x1112 720x1280 1470x630'),
  '1080p': sizesOf('1920x1080 1664x1248 1440x1440 1248x1664 1080x1920 2206x946'),
  '4k': sizesOf('3840x2160 3326x2494 2880x2880 2494x3326 2160x3840 4398x1886'),
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
