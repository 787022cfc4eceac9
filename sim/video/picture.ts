/** The picture in every simulated video: eight vertical colour bars that move one place per second. */
type Rgb = readonly [red: number, green: number, blue: number];

/** One colour for PNG, and for video: 16-235 (BT.709). */
export interface Color {
  rgb: Rgb;
  video: readonly [luma: number, blueDifference: number, redDifference: number];
}

const BARS: readonly Rgb[] = [
  [235, 235, 235],
  [219, 197, 53],
  [48, 180, 196],
  [60, 166, 75],
  [178, 70, 170],
  [194, 57, 52],
  [45, 74, 178],
  [30, 34, 42],
];

const COLORS: readonly Color[] = BARS.map((rgb) => ({ rgb, video: toVideo(rgb) }));

export const BAR_COUNT = COLORS.length;
/** Bars begin at multiples of 16 pixels, so that no macroblock contains two colours. */
const BLOCK = 16;

/** The colour of column `x`. `shift` is the number of places that the bars have moved. */
export function colorAt(x: number, width: number, shift: number): Color {
  const blocks = Math.ceil(width / BLOCK);
  const bar = Math.floor((Math.floor(x / BLOCK) * BAR_COUNT) / blocks);
  const color = COLORS[(bar + shift) % BAR_COUNT];
  if (!color) throw new RangeError(`no bar at column ${x} of ${width}`);
  return color;
}

function toVideo([red, green, blue]: Rgb): Color['video'] {
  const luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  const chroma = (difference: number, weight: number): number =>
    Math.round(128 + (difference * 224) / 255 / (2 * (1 - weight)));
  return [Math.round(16 + (luma * 219) / 255), chroma(blue - luma, 0.0722), chroma(red - luma, 0.2126)];
}
