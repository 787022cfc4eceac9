/**
 * The rules of each video variant, one sheet each. A new variant is a new name in `VIDEO_VARIANTS` and a sheet here.
 * V 0: variant B is EP and HC together; they differ only in their assets.
 */
import type { ErrorCode } from '../errors.ts';
import type { VideoVariant } from '../groups.ts';
import type { MediaRole } from './content.ts';
import {
  DEFAULT_SERVICE_TIER,
  type IntegerRule,
  MAX_DURATION_S,
  MIN_DURATION_S,
  type ParameterRule,
  type VideoParameter,
} from './parameters.ts';
import { RATIOS, type Ratio, RESOLUTIONS, type Resolution } from './sizes.ts';
import type { TaskStatus } from './status.ts';

const MIB = 2 ** 20;

export interface VariantSheet {
  readonly parameters: Readonly<Record<VideoParameter, ParameterRule>>;
  /** The most that a model of the variant can offer. */
  readonly resolutions: readonly Resolution[];
  readonly ratios: readonly Ratio[];
  readonly inlineMedia: InlineMediaRules;
  readonly combinations: RoleCombinations;
  readonly deletion: Readonly<Record<TaskStatus, DeletionRule>>;
  /** The task list shows tasks of this many days; undefined for all (V 4.4). */
  readonly listDays: number | undefined;
  readonly assets: AssetRules;
  /** Task fields that only some variants show (V 2). */
  readonly taskFields: readonly ('seed' | 'framespersecond')[];
  /** HKDF info of the key that signs callbacks (V 6). */
  readonly callbackInfo: string;
}

/** Data URLs (V 4.1). "MB" is 2^20 bytes. Formats are all that some variant accepts; a format of another variant is unsupported. */
export interface InlineMediaRules {
  readonly image: {
    readonly formats: readonly string[];
    readonly maxBytes: number;
    /** The declared format must be the format of the bytes. */
    readonly isContentChecked: boolean;
  };
  readonly audio: {
    readonly formats: readonly string[];
    readonly maxBytes: number;
    /** Limits in seconds; undefined when length is left to the provider. */
    readonly length: { readonly min: number; readonly max: number; readonly maxTotal: number } | undefined;
  };
}

export interface RoleCombinations {
  /** The largest number of items with a role; no limit for a role that is absent. */
  readonly maxItems: Readonly<Partial<Record<MediaRole, number>>>;
  /** Roles of different sets do not go together. */
  readonly exclusive: readonly (readonly MediaRole[])[];
  /** Items with `role` need an item with one of `oneOf`. */
  readonly companions: readonly { readonly role: MediaRole; readonly oneOf: readonly MediaRole[] }[];
}

export type DeletionError = Extract<
  ErrorCode,
  'task_cancel_not_supported' | 'task_delete_not_supported' | 'task_not_cancellable'
>;
/** `cancel`: asks the provider to cancel, if the model can. `remove`: deletes the record. */
export type DeletionRule =
  | { readonly action: 'cancel'; readonly otherwise: DeletionError }
  | { readonly action: 'remove' }
  | { readonly action: 'reject'; readonly code: DeletionError };

export interface AssetRules {
  /** Assets of different spaces cannot be combined, and fit only models of their own space (V 1). */
  readonly space: VideoVariant;
  /** Assets live in groups that the caller creates. */
  readonly hasGroups: boolean;
  /** Assets and groups can be deleted. */
  readonly isDeletable: boolean;
  readonly hasRealPersonSessions: boolean;
}

/** HKDF info of the key that signs callbacks; all variants sign alike (V 6 r5, r7). */
export const CALLBACK_INFO = 'gateway-video-callback-v1';

const UNSUPPORTED: ParameterRule = { kind: 'unsupported' };
const REJECTED: ParameterRule = { kind: 'rejected' };
const BOOLEAN: ParameterRule = { kind: 'boolean' };

const duration = (isAutomaticSupported: boolean): IntegerRule => ({
  kind: 'integer',
  min: MIN_DURATION_S,
  max: MAX_DURATION_S,
  unit: 'seconds',
  automatic: { value: -1, isSupported: isAutomaticSupported },
});

const SHARED_PARAMETERS = {
  resolution: { kind: 'offered', capability: 'resolutions', vocabulary: RESOLUTIONS },
  ratio: { kind: 'offered', capability: 'ratios', vocabulary: RATIOS },
  generate_audio: BOOLEAN,
  watermark: BOOLEAN,
  return_last_frame: BOOLEAN,
  callback_url: { kind: 'public-url' },
} as const satisfies Partial<Record<VideoParameter, ParameterRule>>;

const IMAGES = { formats: ['jpeg', 'png', 'webp', 'bmp', 'tiff', 'gif'], maxBytes: 30 * MIB - 1 };
const AUDIO_BYTES = 15 * MIB;
const AUDIO_ITEMS = 3;

/** V 4.1: frames and references are different modes of a model. Tagged [A] there; no model of B mixes them either. */
const FRAME_LIMITS = { first_frame: 1, last_frame: 1, reference_audio: AUDIO_ITEMS };
const FRAMES_OR_REFERENCES: RoleCombinations['exclusive'] = [
  ['first_frame', 'last_frame'],
  ['reference_image', 'reference_video', 'reference_audio'],
];
const LAST_NEEDS_FIRST = { role: 'last_frame', oneOf: ['first_frame'] } as const;

const REMOVE: DeletionRule = { action: 'remove' };
const CANCEL_UNSUPPORTED: DeletionRule = { action: 'reject', code: 'task_cancel_not_supported' };
const DELETE_UNSUPPORTED: DeletionRule = { action: 'reject', code: 'task_delete_not_supported' };

const A: VariantSheet = {
  parameters: {
    ...SHARED_PARAMETERS,
    duration: duration(true),
    frames: { kind: 'integer', min: 1, max: 360 },
    seed: { kind: 'integer', min: -1, max: 4_294_967_295 },
    service_tier: { kind: 'word', accepted: [DEFAULT_SERVICE_TIER] },
    execution_expires_after: { kind: 'integer', min: 3_600, max: 259_200, unit: 'seconds' },
    tools: { kind: 'tools', types: ['web_search'], maxItems: 16 },
    camera_fixed: REJECTED,
    draft: REJECTED,
    priority: REJECTED,
  },
  resolutions: ['480p', '720p', '1080p'],
  ratios: RATIOS,
  inlineMedia: {
    image: { ...IMAGES, isContentChecked: true },
    audio: { formats: ['wav', 'mp3'], maxBytes: AUDIO_BYTES, length: { min: 2, max: 15, maxTotal: 15 } },
  },
  combinations: {
    maxItems: { ...FRAME_LIMITS, reference_image: 9, reference_video: 3 },
    exclusive: FRAMES_OR_REFERENCES,
    companions: [LAST_NEEDS_FIRST],
  },
  deletion: {
    queued: { action: 'cancel', otherwise: 'task_cancel_not_supported' },
    running: { action: 'reject', code: 'task_not_cancellable' },
    cancelled: REMOVE,
    succeeded: REMOVE,
    failed: REMOVE,
    expired: REMOVE,
  },
  listDays: undefined,
  assets: { space: 'A', hasGroups: true, isDeletable: true, hasRealPersonSessions: true },
  taskFields: ['seed', 'framespersecond'],
  callbackInfo: CALLBACK_INFO,
};

const B: Omit<VariantSheet, 'assets'> = {
  parameters: {
    ...SHARED_PARAMETERS,
    duration: duration(false),
    frames: UNSUPPORTED,
    seed: UNSUPPORTED,
    service_tier: UNSUPPORTED,
    execution_expires_after: UNSUPPORTED,
    tools: UNSUPPORTED,
    camera_fixed: UNSUPPORTED,
    draft: UNSUPPORTED,
    priority: UNSUPPORTED,
  },
  resolutions: RESOLUTIONS,
  ratios: RATIOS,
  inlineMedia: {
    image: { ...IMAGES, isContentChecked: false },
    audio: { formats: ['wav', 'mp3', 'mpeg'], maxBytes: AUDIO_BYTES, length: undefined },
  },
  combinations: {
    maxItems: FRAME_LIMITS,
    exclusive: FRAMES_OR_REFERENCES,
    companions: [LAST_NEEDS_FIRST, { role: 'reference_audio', oneOf: ['reference_image', 'reference_video'] }],
  },
  deletion: {
    queued: CANCEL_UNSUPPORTED,
    running: CANCEL_UNSUPPORTED,
    cancelled: DELETE_UNSUPPORTED,
    succeeded: DELETE_UNSUPPORTED,
    failed: DELETE_UNSUPPORTED,
    expired: DELETE_UNSUPPORTED,
  },
  listDays: 7,
  taskFields: [],
  callbackInfo: CALLBACK_INFO,
};

export const VARIANT_SHEETS: Readonly<Record<VideoVariant, VariantSheet>> = {
  A,
  EP: { ...B, assets: { space: 'EP', hasGroups: true, isDeletable: false, hasRealPersonSessions: false } },
  HC: { ...B, assets: { space: 'HC', hasGroups: false, isDeletable: false, hasRealPersonSessions: false } },
};

/** Formats of inline media that some variant accepts. */
export const knownFormats = (kind: keyof InlineMediaRules): ReadonlySet<string> =>
  new Set(Object.values(VARIANT_SHEETS).flatMap(({ inlineMedia }) => inlineMedia[kind].formats));

/** What DELETE does with a task (V 3): an action, or the code of the error. */
export function deletionOf(
  variant: VideoVariant,
  status: TaskStatus,
  canCancel: boolean,
): 'cancel' | 'remove' | DeletionError {
  const rule = VARIANT_SHEETS[variant].deletion[status];
  if (rule.action === 'reject') return rule.code;
  return rule.action === 'cancel' && !canCancel ? rule.otherwise : rule.action;
}
