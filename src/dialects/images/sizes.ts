/** Sizes of the images API as aspect ratio and tier. */
import { IMAGE_PRESETS, STANDARD_IMAGE_SIZES } from '../../rules/index.ts';
import type { HubImageSettings } from '../hub/types.ts';
import { settingsOfSize } from '../tools/images.ts';
import { unsupported } from '../wire/read.ts';

/** Fewer pixels would make the picture of the smallest tier more than twice as large as asked for. */
const MIN_PIXELS = 2 ** 19;

/** Returns undefined where the provider chooses the size. Rejects a size without an exact ratio, naming the nearest preset. */
export function settingsFor(size: string | undefined): HubImageSettings | undefined {
  if (size === undefined || size === 'auto') return undefined;
  const [width, height] = edgesOf(size);
  const settings = width * height < MIN_PIXELS ? undefined : settingsOfSize(width, height);
  if (!settings)
    unsupported('size', `this model has no equivalent of ${size}; use "${nearestPreset(size)}", or "auto".`);
  const tier = Object.entries(IMAGE_PRESETS).find(([, sizes]) => Object.values(sizes).includes(size))?.[0];
  return tier === undefined || tier === '1K' ? settings : { ...settings, tier };
}

const PRESETS: readonly string[] = [
  ...STANDARD_IMAGE_SIZES.filter((size) => size !== 'auto'),
  ...Object.values(IMAGE_PRESETS).flatMap((sizes) => Object.values(sizes)),
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
