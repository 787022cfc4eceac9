/** Model families, their limits, and the pixel sizes of the videos. */
export type Resolution = '480p' | '720p' | '1080p' | '4k';
export type Ratio = '16:9' | '4:3' | '1:1' | '3:4' | '9:16' | '21:9';

type Size = readonly [width: number, height: number];

export const SIZES: Readonly<Record<Resolution, Readonly<Record<Ratio, Size>>>> = {
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

export const RATIOS = Object.keys(SIZES['720p']) as Ratio[];

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
