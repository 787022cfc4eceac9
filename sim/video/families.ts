/** Model families, their limits, and the pixel sizes of the videos. */
export type Resolution = '480p' | '720p' | '1080p' | '4k';

type Size = readonly [width: number, height: number];

export const RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'] as const;
export type Ratio = (typeof RATIOS)[number];

/** Sizes in the order of `RATIOS`. */
const sizes = (text: string): Readonly<Record<Ratio, Size>> => {
  const rows = text.split(' ').map((size, n) => [RATIOS[n], size.split('x').map(Number)]);
  return Object.fromEntries(rows);
};

export const SIZES: Readonly<Record<Resolution, Readonly<Record<Ratio, Size>>>> = {
  '480p': sizes('864x496 752x560 640x640 560x752 496x864 992x432'),
  '720p': sizes('1280x720 1112x834 960x960 834x1112 720x1280 1470x630'),
  '1080p': sizes('1920x1080 1664x1248 1440x1440 1248x1664 1080x1920 2206x946'),
  '4k': sizes('3840x2160 3326x2494 2880x2880 2494x3326 2160x3840 4398x1886'),
};

export const isResolution = (value: unknown): value is Resolution =>
  typeof value === 'string' && Object.hasOwn(SIZES, value);
export const isRatio = (value: unknown): value is Ratio =>
  typeof value === 'string' && RATIOS.some((ratio) => ratio === value);

/** What the models of one family accept. */
export interface Family {
  resolutions: readonly Resolution[];
  /** Seconds, inclusive. */
  duration: { min: number; max: number; automatic: boolean; default?: number };
  /** Undefined: the family rejects `frames`. `step`: only 25 + 4n is accepted. */
  frames?: { min: number; max: number; step: boolean };
  /** Optional parameters that other families reject. */
  parameters: readonly ('generate_audio' | 'tools' | 'priority' | 'camera_fixed' | keyof typeof WORDS)[];
  tiers: readonly string[];
  references: { images: number; videos: number; audios: number; audioAlone: boolean };
}

/** Parameters that are one of several words. */
export const WORDS = {
  omni_reference_task_type: ['auto', 'reference', 'edit', 'extend'],
  output_format: ['mp4', 'mov'],
} as const;

const SECOND_GENERATION = {
  duration: { min: 4, max: 15, automatic: true },
  parameters: ['generate_audio', 'tools', 'priority'],
  tiers: ['default'],
  references: { images: 9, videos: 3, audios: 3, audioAlone: false },
} as const;

export const FAMILIES = {
  '2.5': {
    ...SECOND_GENERATION,
    resolutions: ['480p', '720p', '1080p'],
    duration: { min: 4, max: 30, automatic: true, default: -1 },
    parameters: [...SECOND_GENERATION.parameters, 'omni_reference_task_type', 'output_format'],
    references: { images: 30, videos: 10, audios: 10, audioAlone: true },
  },
  '2.0': { ...SECOND_GENERATION, resolutions: ['480p', '720p', '1080p', '4k'] },
  '2.0-fast': { ...SECOND_GENERATION, resolutions: ['480p', '720p'] },
  '2.0-mini': { ...SECOND_GENERATION, resolutions: ['480p', '720p'] },
  '1.0': {
    resolutions: ['480p', '720p', '1080p'],
    duration: { min: 2, max: 12, automatic: false },
    frames: { min: 29, max: 289, step: true },
    parameters: ['camera_fixed'],
    tiers: ['default', 'flex'],
    references: { images: 0, videos: 0, audios: 0, audioAlone: false },
  },
  /** No real family: the union of all limits, for tests of a client that leaves the limits to the provider. */
  open: {
    resolutions: ['480p', '720p', '1080p', '4k'],
    duration: { min: 2, max: 30, automatic: true },
    frames: { min: 1, max: 720, step: false },
    parameters: ['generate_audio', 'tools', 'priority', 'camera_fixed'],
    tiers: ['default', 'flex'],
    references: { images: 64, videos: 64, audios: 64, audioAlone: true },
  },
} as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof FAMILIES;

export const familyOf = (name: FamilyName): Family => FAMILIES[name];

/** The family of a model that the options do not name, by the words of its name. */
export function guessFamily(model: string): FamilyName {
  const words = model.toLowerCase().split(/[^a-z0-9]+/);
  if (words.includes('fast')) return '2.0-fast';
  if (words.includes('mini')) return '2.0-mini';
  if (words.includes('open')) return 'open';
  if (/(?:^|\D)2[-.]5(?:\D|$)/.test(model)) return '2.5';
  return /(?:^|\D)1[-.]0(?:\D|$)/.test(model) ? '1.0' : '2.0';
}
