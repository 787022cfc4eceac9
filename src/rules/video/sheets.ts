/**
 * What video models accept, one sheet each: those of the contract's variants, and those of models that it does not
 * know. An operator changes a sheet, or writes one, in `capabilities` of a model (`capabilities.ts`). V 0: variant B is
 * EP and HC together; they differ only in their assets.
 */
import type { VideoVariant } from '../groups.ts';
import { HAILUO, OFFERED, VEO_3_1 } from './family-sheets.ts';
import * as params from './parameters.ts';
import type { DeletionRule, InlineMediaRules, RoleCombinations, VariantSheet, VideoSheet } from './sheet.ts';
import { PIXEL_SIZES, RATIOS, RESOLUTIONS } from './sizes.ts';

const MIB = 2 ** 20;

/** HKDF info of the key that signs callbacks; all variants sign alike (V 6 r5, r7). */
export const CALLBACK_INFO = 'gateway-video-callback-v1';

const REJECTED: params.ParameterRule = { kind: 'rejected' };
const BOOLEAN: params.ParameterRule = { kind: 'boolean' };

/** -1 lets the model choose, where it can. */
const duration = (min: number, max: number, isSupported: boolean): params.IntegerRule => ({
  kind: 'integer',
  min,
  max,
  unit: 'seconds',
  automatic: { value: -1, isSupported },
});

const SHARED_PARAMETERS = {
  ...OFFERED,
  generate_audio: BOOLEAN,
  watermark: BOOLEAN,
  return_last_frame: BOOLEAN,
  // Beyond the document: both SDKs of the provider have it.
  safety_identifier: { kind: 'text', maxLength: 64 },
} as const satisfies Partial<Record<params.VideoParameter, params.ParameterRule>>;

const IMAGES = { formats: ['jpeg', 'png', 'webp', 'bmp', 'tiff', 'gif'], maxBytes: 30 * MIB - 1 };
const AUDIO_BYTES = 15 * MIB;

/** V 4.1: frames and references are different modes of a model. Tagged [A] there; no model of B mixes them either. */
const FRAME_LIMITS = { first_frame: 1, last_frame: 1 };
const FRAMES_OR_REFERENCES: RoleCombinations['exclusive'] = [
  ['first_frame', 'last_frame'],
  ['reference_image', 'reference_video', 'reference_audio'],
];
const combinations = (
  maxItems: RoleCombinations['maxItems'],
  ...companions: RoleCombinations['companions']
): RoleCombinations => ({
  maxItems: { ...FRAME_LIMITS, ...maxItems },
  exclusive: FRAMES_OR_REFERENCES,
  companions: [{ role: 'last_frame', oneOf: ['first_frame'] }, ...companions],
});
/** `max`: seconds of one audio, and of all together. */
const checkedMedia = (max: number): InlineMediaRules => ({
  image: { ...IMAGES, isContentChecked: true },
  audio: { formats: ['wav', 'mp3'], maxBytes: AUDIO_BYTES, length: { min: 2, max, maxTotal: max } },
});

const REMOVE: DeletionRule = { action: 'remove' };
const CANCEL_UNSUPPORTED: DeletionRule = { action: 'reject', code: 'task_cancel_not_supported' };
const DELETE_UNSUPPORTED: DeletionRule = { action: 'reject', code: 'task_delete_not_supported' };

/** Cancels what is queued, and removes what has ended. */
export const DELETES_TASKS: VideoSheet['deletion'] = {
  queued: { action: 'cancel', otherwise: 'task_cancel_not_supported' },
  running: { action: 'reject', code: 'task_not_cancellable' },
  cancelled: REMOVE,
  succeeded: REMOVE,
  failed: REMOVE,
  expired: REMOVE,
};
export const KEEPS_TASKS: VideoSheet['deletion'] = {
  queued: CANCEL_UNSUPPORTED,
  running: CANCEL_UNSUPPORTED,
  cancelled: DELETE_UNSUPPORTED,
  succeeded: DELETE_UNSUPPORTED,
  failed: DELETE_UNSUPPORTED,
  expired: DELETE_UNSUPPORTED,
};

const CONTRACT = {
  source: 'docs/contract/video.md',
  unit: 'tokens',
  pixelsPerToken: 1_024,
  framesPerSecond: params.FRAMES_PER_SECOND,
  conditions: [],
  defaultDuration: undefined,
  inputVideoSeconds: 15,
  ratios: RATIOS,
  sizes: PIXEL_SIZES,
  cancelQueued: true,
  callbackInfo: CALLBACK_INFO,
} as const;

const TASK_OPTIONS = {
  service_tier: { kind: 'word', accepted: [params.DEFAULT_SERVICE_TIER] },
  execution_expires_after: { kind: 'integer', min: 3_600, max: 259_200, unit: 'seconds' },
  tools: { kind: 'tools', types: ['web_search'], maxItems: 16 },
} as const satisfies Partial<Record<params.VideoParameter, params.ParameterRule>>;

const A: VariantSheet = {
  ...CONTRACT,
  parameters: {
    ...SHARED_PARAMETERS,
    ...TASK_OPTIONS,
    duration: duration(4, 15, true),
    frames: { kind: 'integer', min: 1, max: 360 },
    seed: { kind: 'integer', min: -1, max: 4_294_967_295 },
    camera_fixed: REJECTED,
    draft: REJECTED,
    priority: REJECTED,
  },
  resolutions: ['480p', '720p', '1080p'],
  inlineMedia: checkedMedia(15),
  combinations: combinations({ reference_image: 9, reference_video: 3, reference_audio: 3 }),
  deletion: DELETES_TASKS,
  listDays: undefined,
  assets: { space: 'A', hasGroups: true, isDeletable: true, hasRealPersonSessions: true },
  taskFields: ['seed', 'framespersecond'],
};

const B: Omit<VariantSheet, 'assets'> = {
  ...CONTRACT,
  parameters: {
    ...SHARED_PARAMETERS,
    duration: duration(4, 15, false),
    frames: params.UNSUPPORTED,
    seed: params.UNSUPPORTED,
    service_tier: params.UNSUPPORTED,
    execution_expires_after: params.UNSUPPORTED,
    tools: params.UNSUPPORTED,
    camera_fixed: params.UNSUPPORTED,
    draft: params.UNSUPPORTED,
    priority: params.UNSUPPORTED,
  },
  resolutions: RESOLUTIONS,
  inlineMedia: {
    image: { ...IMAGES, isContentChecked: false },
    audio: { formats: ['wav', 'mp3', 'mpeg'], maxBytes: AUDIO_BYTES, length: undefined },
  },
  combinations: combinations(
    { reference_audio: 3 },
    { role: 'reference_audio', oneOf: ['reference_image', 'reference_video'] },
  ),
  deletion: KEEPS_TASKS,
  listDays: 7,
  taskFields: [],
};

export const VARIANT_SHEETS: Readonly<Record<VideoVariant, VariantSheet>> = {
  A,
  EP: { ...B, assets: { space: 'EP', hasGroups: true, isDeletable: false, hasRealPersonSessions: false } },
  HC: { ...B, assets: { space: 'HC', hasGroups: false, isDeletable: false, hasRealPersonSessions: false } },
};

/**
 * From public quotations of the page. What is not known is refused: drafts and `priority`, and `seed`, `frames`,
 * `camera_fixed`, which older models have.
 */
const SEEDANCE_2_5: VideoSheet = {
  ...CONTRACT,
  source: 'https://docs.byteplus.com/en/docs/modelark/seedance-2-5, 2026-10-09',
  parameters: {
    ...SHARED_PARAMETERS,
    ...TASK_OPTIONS,
    duration: duration(4, 30, true),
    frames: params.UNSUPPORTED,
    seed: params.UNSUPPORTED,
    camera_fixed: params.UNSUPPORTED,
    draft: params.UNSUPPORTED,
    priority: params.UNSUPPORTED,
    omni_reference_task_type: { kind: 'word', accepted: ['auto', 'reference', 'edit', 'extend'] },
    output_format: { kind: 'word', accepted: ['mp4', 'mov'] },
  },
  // With `auto` the model decides by the prompt, and the provider rejects the task later. An edit without a video is
  // our reading.
  conditions: [
    { when: { role: 'first_frame' }, only: { ratio: ['adaptive'] } },
    {
      when: { omni_reference_task_type: 'edit' },
      only: { ratio: ['adaptive'], duration: [-1] },
      needs: 'reference_video',
    },
    { when: { omni_reference_task_type: 'extend' }, only: { ratio: ['adaptive'] }, needs: 'reference_video' },
  ],
  inputVideoSeconds: 30,
  resolutions: ['480p', '720p', '1080p'],
  // No table of its pixels was found. Those of the contract are at least as large as the price examples of 2026-10-02
  // imply.
  sizes: { '480p': PIXEL_SIZES['480p'], '720p': PIXEL_SIZES['720p'], '1080p': PIXEL_SIZES['1080p'] },
  inlineMedia: checkedMedia(30),
  combinations: combinations({ reference_image: 30, reference_video: 10, reference_audio: 10 }),
  deletion: DELETES_TASKS,
};

/** By the name that `extends` gives. */
export const VIDEO_SHEETS = {
  ...VARIANT_SHEETS,
  'seedance-2.5': SEEDANCE_2_5,
  'veo-3.1': { ...VEO_3_1, deletion: DELETES_TASKS },
  hailuo: { ...HAILUO, deletion: DELETES_TASKS },
} as const satisfies Record<string, VideoSheet>;
export type SheetName = keyof typeof VIDEO_SHEETS;
export const SHEET_NAMES = Object.keys(VIDEO_SHEETS) as SheetName[];

/** Formats of inline media that some sheet accepts. */
export const knownFormats = (kind: keyof InlineMediaRules): ReadonlySet<string> =>
  new Set(Object.values(VIDEO_SHEETS).flatMap(({ inlineMedia }) => inlineMedia[kind].formats));
