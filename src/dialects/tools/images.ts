/**
 * Generated images: how much a request insists on one, and its size
 * both as pixels and as an aspect ratio with a tier.
 */
import { findHosted } from '../hub/effective-request.ts';
import type { HubImageSettings, HubRequest, HubServerTool, JsonObject } from '../hub/types.ts';
import { isGiven, maybeString } from '../wire/read.ts';
import { allowedTools } from './allowed.ts';

export const imageToolOf = (request: HubRequest): HubServerTool | undefined =>
  findHosted(allowedTools(request), 'image_gen');

/** Whether the client chose the image tool, or requires a tool and offers no other. */
export function forcesImageTool(request: HubRequest): boolean {
  const { toolChoice } = request;
  if (toolChoice.kind === 'hosted') return toolChoice.tool === 'image_gen';
  if (toolChoice.kind !== 'required') return false;
  const tools = allowedTools(request);
  return tools.length > 0 && tools.every((tool) => tool.kind === 'server' && tool.tool === 'image_gen');
}

// ---------------------------------------------------------------- options of the image tool

/**
 * Options of the tool that have an effect, other than its size. A
 * default value is not lost where an option does not exist.
 */
export const imageOptions = ({ raw }: HubServerTool): string[] =>
  Object.keys(raw).filter((name) => name !== 'type' && name !== 'size' && !isDefault(raw[name]));

const isDefault = (value: unknown): boolean => !isGiven(value) || value === 'auto' || value === 0;

/** Returns undefined if the size is one that no ratio of the table has exactly. */
export function settingsOfTool({ raw }: HubServerTool): HubImageSettings | undefined {
  if (isDefault(raw.size)) return {};
  const [, width = '', height = ''] = /^(\d{1,5})x(\d{1,5})$/.exec(maybeString(raw.size) ?? '') ?? [];
  return settingsOfSize(Number(width), Number(height));
}

// ---------------------------------------------------------------- sizes

type Size = readonly [width: number, height: number];
const TIERS = ['1K', '2K', '4K'] as const;
type Tier = (typeof TIERS)[number];

/**
 * By ratio and tier, within the limits of the image tool: multiples of 16, edges up
 * to 3840, 8,294,400 pixels. Portrait sizes have the edges exchanged.
 */
const LANDSCAPE: Readonly<Record<string, Readonly<Record<Tier, Size>>>> = {
  '1:1': { '1K': [1024, 1024], '2K': [2048, 2048], '4K': [2880, 2880] },
  '5:4': { '1K': [1120, 896], '2K': [2240, 1792], '4K': [3200, 2560] },
  '4:3': { '1K': [1152, 864], '2K': [2304, 1728], '4K': [3264, 2448] },
  '3:2': { '1K': [1536, 1024], '2K': [2496, 1664], '4K': [3504, 2336] },
  '16:9': { '1K': [1536, 864], '2K': [2560, 1440], '4K': [3840, 2160] },
  '21:9': { '1K': [1568, 672], '2K': [3024, 1296], '4K': [3808, 1632] },
};

/** Pixels up to which a size belongs to a tier; between the sizes of two tiers. */
const MAX_PIXELS: Readonly<Record<Tier, number>> = { '1K': 2 ** 21, '2K': 5_500_000, '4K': Number.POSITIVE_INFINITY };

/** The one ratio of the table that the image modality has in landscape only. */
const NO_PORTRAIT = '9:21';

const reversed = (ratio: string): string => ratio.split(':').reverse().join(':');

/** Returns undefined if the ratio is not exactly one of the table. */
export function settingsOfSize(width: number, height: number): HubImageSettings | undefined {
  const [long, short] = width < height ? [height, width] : [width, height];
  const ratio = Object.keys(LANDSCAPE).find((name) => {
    const [wide = 0, high = 0] = name.split(':').map(Number);
    return short > 0 && long * high === short * wide;
  });
  const tier = TIERS.find((name) => width * height <= MAX_PIXELS[name]);
  if (ratio === undefined || tier === undefined) return undefined;
  const aspectRatio = width < height ? reversed(ratio) : ratio;
  if (aspectRatio === NO_PORTRAIT) return undefined;
  // Tier 1K is the default of every model, and older models have no tiers.
  return tier === '1K' ? { aspectRatio } : { aspectRatio, tier };
}

/** Returns the size for the image tool, such as `1536x864`; undefined if the ratio or the tier is not in the table. */
export function sizeOfSettings({ aspectRatio = '1:1', tier = '1K' }: HubImageSettings): string | undefined {
  const known = TIERS.find((name) => name === tier);
  const landscape = sizesOf(aspectRatio);
  const portrait = sizesOf(reversed(aspectRatio));
  if (known === undefined) return undefined;
  return landscape ? landscape[known].join('x') : portrait && [...portrait[known]].reverse().join('x');
}

const sizesOf = (ratio: string): Readonly<Record<Tier, Size>> | undefined =>
  Object.hasOwn(LANDSCAPE, ratio) ? LANDSCAPE[ratio] : undefined;

/** The tool of the responses dialect for a client that asks by modality. */
export const imageToolFor = (settings: HubImageSettings | undefined): JsonObject => {
  const size = settings && sizeOfSettings(settings);
  return size === undefined ? { type: 'image_generation' } : { type: 'image_generation', size };
};
