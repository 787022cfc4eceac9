/** The form of a sheet: what a video model accepts, and what becomes of its tasks. */
import type { ErrorCode } from '../errors.ts';
import type { VideoVariant } from '../groups.ts';
import type { MediaRole } from './content.ts';
import { type IntegerRule, type ParameterRule, VIDEO_PARAMETERS } from './parameters.ts';
import type { Ratio, Resolution, SizeTable } from './sizes.ts';
import type { TaskStatus } from './status.ts';

/** What a price is for: a million tokens, a second of the video, or a video. */
export const PRICE_UNITS = ['tokens', 'seconds', 'videos'] as const;
export type PriceUnit = (typeof PRICE_UNITS)[number];

export interface VideoSheet {
  /** The document that it follows, and the day of its state. */
  readonly source: string;
  readonly unit: PriceUnit;
  /** Of a sheet by tokens: a token for so many pixels of a frame. */
  readonly pixelsPerToken: number;
  readonly framesPerSecond: number;
  /**
   * By name; a request with any other member is rejected. The longest duration is held when the model chooses it (V 4.2
   * r2).
   */
  readonly parameters: Readonly<Record<string, ParameterRule>> & { readonly duration: IntegerRule };
  readonly conditions: readonly SheetCondition[];
  /**
   * Seconds of a video whose request gives no length. Undefined when unknown; the hold is then for the longest video.
   */
  readonly defaultDuration: number | undefined;
  /**
   * Members that are sent where a request leaves them out, with the length: what the provider would take, which it does
   * not report.
   */
  readonly defaults?: Readonly<Record<string, MemberValue>>;
  /** Seconds of all videos in the input; held when there is one, since its length is not measured. */
  readonly inputVideoSeconds: number;
  /** What the model offers of its sizes. */
  readonly resolutions: readonly Resolution[];
  readonly ratios: readonly Ratio[];
  readonly sizes: SizeTable;
  readonly inlineMedia: InlineMediaRules;
  readonly combinations: RoleCombinations;
  readonly deletion: Readonly<Record<TaskStatus, DeletionRule>>;
  /** The provider can cancel a task that it has not started. Used where `deletion` can cancel (V 3). */
  readonly cancelQueued: boolean;
}

/** A variant is a property of a service group, so that it also decides what concerns no single model. */
export interface VariantSheet extends VideoSheet {
  /** The task list shows tasks of this many days; undefined for all (V 4.4). */
  readonly listDays: number | undefined;
  readonly assets: AssetRules;
  /** Task fields that only some variants show (V 2). */
  readonly taskFields: readonly ('seed' | 'framespersecond')[];
  /** HKDF info of the key that signs callbacks (V 6). */
  readonly callbackInfo: string;
}

export type MemberValue = string | number | boolean;
/**
 * Members that go together: a request that has all of `when` gives only these values, or none, and has an item with the
 * role.
 */
export interface SheetCondition {
  /** Values of members; `role` is that of some item. */
  readonly when: Readonly<Record<string, MemberValue>>;
  readonly only?: Readonly<Record<string, readonly MemberValue[]>>;
  readonly needs?: MediaRole;
}

/**
 * Data URLs (V 4.1). "MB" is 2^20 bytes. Formats are all that some variant accepts; a format of another variant is
 * unsupported.
 */
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
  readonly isDeletable: boolean;
  readonly hasRealPersonSessions: boolean;
}

/** The members of a sheet in the order in which they are checked and sent. */
export const sheetMembers = ({ parameters }: Pick<VideoSheet, 'parameters'>): readonly string[] => [
  ...new Set([...VIDEO_PARAMETERS, ...Object.keys(parameters)].filter((name) => Object.hasOwn(parameters, name))),
];

/** What DELETE does with a task (V 3): an action, or the code of the error. */
export function deletionOf(
  { deletion, cancelQueued }: Pick<VideoSheet, 'deletion' | 'cancelQueued'>,
  status: TaskStatus,
): 'cancel' | 'remove' | DeletionError {
  const rule = deletion[status];
  if (rule.action === 'reject') return rule.code;
  return rule.action === 'cancel' && !cancelQueued ? rule.otherwise : rule.action;
}
