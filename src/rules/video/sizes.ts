/** Resolutions, ratios and pixel sizes of videos (V 4.2, V 4.7). */
import { words } from '../notation.ts';

/** Words for resolutions of all sheets, from the smallest to the largest. */
export const RESOLUTION_WORDS = words('360p 480p 512p 540p 720p 768p 1080p 1440p 2k 4k');
export type Resolution = (typeof RESOLUTION_WORDS)[number];

/** Those of V 4.2. A word that no size of a sheet has is unknown to its models. */
export const RESOLUTIONS = words('480p 720p 1080p 4k');

const CONTRACT_RATIOS = words('16:9 4:3 1:1 3:4 9:16 21:9');
const FIXED_RATIOS = [...CONTRACT_RATIOS, ...words('3:2 2:3 5:4 4:5 2:1 1:2 9:21')] as const;
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

/** In the order of `CONTRACT_RATIOS`. */
const sizesOf = (text: string): ContractSizes['720p'] =>
  Object.fromEntries(text.split(' ').map((size, n) => [CONTRACT_RATIOS[n], parseSize(size)])) as never;

/** `1280x720`, as `/v1/videos` and the configuration file write sizes. */
export const parseSize = (text: string): PixelSize => text.split('x').map(Number) as never;

export const PIXEL_SIZES: ContractSizes = {
  '480p': sizesOf('864x496 752x560 640x640 560x752 496x864 992x432'),
  '720p': sizesOf('1280x720 1112x834 960x960 834x1112 720x1280 1470x630'),
  '1080p': sizesOf('1920x1080 1664x1248 1440x1440 1248x1664 1080x1920 2206x946'),
  '4k': sizesOf('3840x2160 3326x2494 2880x2880 2494x3326 2160x3840 4398x1886'),
};

/** Sizes that OpenAI's Videos API knows and no model here offers (V 4.7). */
export const UNOFFERED_SIZES: ReadonlySet<string> = new Set(['1792x1024', '1024x1792']);

/** Pixels of one frame. With `adaptive`, no ratio or one that the table lacks: of the largest frame of the resolution. */
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
