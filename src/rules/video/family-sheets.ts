/**
 * Sheets of models whose providers have other task APIs than the contract's. What is not known of a model is refused.
 */
import { type ParameterRule, UNSUPPORTED } from './parameters.ts';
import { PIXEL_SIZES } from './sizes.ts';

const MIB = 2 ** 20;

/** Members of the contract that no other family knows. They are never dropped silently (V 4.2 r1). */
const CONTRACT_ONLY = {
  frames: UNSUPPORTED,
  watermark: UNSUPPORTED,
  return_last_frame: UNSUPPORTED,
  service_tier: UNSUPPORTED,
  execution_expires_after: UNSUPPORTED,
  tools: UNSUPPORTED,
  camera_fixed: UNSUPPORTED,
  draft: UNSUPPORTED,
  priority: UNSUPPORTED,
} as const;

/** Of every sheet. */
export const OFFERED = {
  resolution: { kind: 'offered', capability: 'resolutions' },
  ratio: { kind: 'offered', capability: 'ratios' },
  callback_url: { kind: 'public-url' },
} as const satisfies Record<string, ParameterRule>;

const lengths = (...values: readonly number[]) =>
  ({
    kind: 'integer',
    min: Math.min(...values),
    max: Math.max(...values),
    values,
    unit: 'seconds',
    automatic: { value: -1, isSupported: false },
  }) as const;

const LANDSCAPE_OR_PORTRAIT = ['16:9', '9:16'] as const;
const sizesOf = (resolution: keyof typeof PIXEL_SIZES) =>
  Object.fromEntries(LANDSCAPE_OR_PORTRAIT.map((ratio) => [ratio, PIXEL_SIZES[resolution][ratio]]));

const SHARED = {
  unit: 'seconds',
  pixelsPerToken: 1,
  framesPerSecond: 24,
  inputVideoSeconds: 0,
  cancelQueued: false,
  inlineMedia: {
    image: { formats: ['jpeg', 'png', 'webp'], maxBytes: 20 * MIB, isContentChecked: true },
    audio: { formats: [], maxBytes: 0, length: undefined },
  },
} as const;
const combinations = (images: number) =>
  ({
    maxItems: { first_frame: 1, last_frame: 1, reference_image: images, reference_video: 0, reference_audio: 0 },
    exclusive: [['first_frame', 'last_frame'], ['reference_image']],
    companions: [{ role: 'last_frame', oneOf: ['first_frame'] }],
  }) as const;

/** By the second: a video of 10 s costs more than one of 6 s. An operator who sells by piece sets `unit: videos`. */
export const HAILUO = {
  ...SHARED,
  source: 'https://platform.minimax.io/docs/api-reference/video-generation-intro, 2026-10',
  parameters: {
    ...CONTRACT_ONLY,
    ...OFFERED,
    seed: UNSUPPORTED,
    generate_audio: UNSUPPORTED,
    duration: lengths(6, 10),
    watermark: { kind: 'boolean' },
    prompt_optimizer: { kind: 'boolean' },
  },
  conditions: [{ when: { resolution: '1080p' }, only: { duration: [6] } }],
  defaultDuration: 6,
  defaults: { resolution: '768p' },
  resolutions: ['768p', '1080p'],
  ratios: ['16:9'],
  sizes: { '768p': { '16:9': [1366, 768] }, '1080p': { '16:9': [1920, 1080] } },
  combinations: combinations(0),
} as const;

/** The longest video is also what the provider makes without a length. */
export const VEO_3_1 = {
  ...SHARED,
  source: 'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation, 2026-10',
  parameters: {
    ...CONTRACT_ONLY,
    ...OFFERED,
    duration: lengths(4, 6, 8),
    seed: { kind: 'integer', min: -1, max: 4_294_967_295 },
    generate_audio: { kind: 'boolean' },
    negative_prompt: { kind: 'text', maxLength: 2_000 },
    person_generation: { kind: 'word', accepted: ['dont_allow', 'allow_adult', 'allow_all'] },
  },
  conditions: [{ when: { role: 'reference_image' }, only: { duration: [8] } }],
  defaultDuration: 8,
  defaults: { resolution: '720p', ratio: '16:9', generate_audio: true },
  resolutions: ['720p', '1080p', '4k'],
  ratios: LANDSCAPE_OR_PORTRAIT,
  sizes: { '720p': sizesOf('720p'), '1080p': sizesOf('1080p'), '4k': sizesOf('4k') },
  combinations: combinations(3),
} as const;
