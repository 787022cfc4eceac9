/** The picture in every simulated video: eight vertical colour bars that move one place per second. */
type Rgb = readonly [red: number, green: number, blue: number];

/** One colour in the forms that the writers need. Video range is 16-235 (BT.709), JPEG uses 0-255 (BT.601). */
export interface Color {
  rgb: Rgb;
  video: readonly [luma: number, blueDifference: number, redDifference: number];
  jpeg: readonly [luma: number, blueDifference: number, redDifference: number];
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

const COLORS: readonly Color[] = BARS.map((rgb) => ({
  rgb,
  video: convert(rgb, { red: 0.2126, blue: 0.0722, offset: 16, lumaScale: 219 / 255, chromaScale: 224 / 255 }),
  jpeg: convert(rgb, { red: 0.299, blue: 0.114, offset: 0, lumaScale: 1, chromaScale: 1 }),
}));

export const BAR_COUNT = COLORS.length;
/** Bars begin at multiples of 16 pixels, so that no macroblock and no JPEG block contains two colours. */
const BLOCK = 16;

/** The colour of column `x`. `shift` is the number of places that the bars have moved. */
export function colorAt(x: number, width: number, shift: number): Color {
  const blocks = Math.ceil(width / BLOCK);
  const bar = Math.floor((Math.floor(x / BLOCK) * BAR_COUNT) / blocks);
  const color = COLORS[(bar + shift) % BAR_COUNT];
  if (!color) throw new RangeError(`no bar at column ${x} of ${width}`);
  return color;
}

/** Weights of red and blue in the luma, and the range of the result. */
interface Conversion {
  red: number;
  blue: number;
  offset: number;
  lumaScale: number;
  chromaScale: number;
}

function convert([red, green, blue]: Rgb, to: Conversion): Color['video'] {
  const luma = to.red * red + (1 - to.red - to.blue) * green + to.blue * blue;
  const chroma = (difference: number, weight: number) =>
    Math.round(128 + (difference * to.chromaScale) / (2 * (1 - weight)));
  return [Math.round(to.offset + luma * to.lumaScale), chroma(blue - luma, to.blue), chroma(red - luma, to.red)];
}
