/** Parameters of a video request and the kinds of rules for their values (V 4.2). */
import { words } from '../words.ts';

/** Those of the contract, in the order in which they are checked and sent. Members that a sheet adds follow. */
export const VIDEO_PARAMETERS = words(
  'duration frames resolution ratio seed generate_audio watermark return_last_frame service_tier',
  'execution_expires_after callback_url safety_identifier tools camera_fixed draft priority',
);
export type VideoParameter = (typeof VIDEO_PARAMETERS)[number];

/** Fields of POST /api/v3/contents/generations/tasks beside the members of the sheet. */
export const TASK_FIELDS: readonly string[] = ['model', 'content'];

/** At most one field of each pair may be given (V 4.2). */
export const EXCLUSIVE_PARAMETERS: readonly (readonly [VideoParameter, VideoParameter])[] = [['duration', 'frames']];

export type ParameterRule =
  | IntegerRule
  | { readonly kind: 'boolean' }
  /** A word of the sizes of the sheet that the model lacks is unsupported; any other word is invalid. */
  | { readonly kind: 'offered'; readonly capability: 'resolutions' | 'ratios' }
  /** A word that is not accepted is unsupported: the vocabulary of the provider is open. */
  | { readonly kind: 'word'; readonly accepted: readonly string[] }
  | { readonly kind: 'text'; readonly maxLength: number }
  | { readonly kind: 'public-url' }
  | { readonly kind: 'tools'; readonly types: readonly string[]; readonly maxItems: number }
  /** The variant does not have the parameter. */
  | { readonly kind: 'unsupported' }
  /** The variant knows the parameter and rejects every value, also `false` and `0`. */
  | { readonly kind: 'rejected' };

export interface IntegerRule {
  readonly kind: 'integer';
  readonly min: number;
  readonly max: number;
  /** Where not all of the range is accepted, in ascending order. */
  readonly values?: readonly number[];
  readonly unit?: 'seconds';
  /** A value outside the range that some variants accept: -1 lets the model choose. */
  readonly automatic?: { readonly value: number; readonly isSupported: boolean };
}

export const UNSUPPORTED = { kind: 'unsupported' } as const satisfies ParameterRule;

/** The only tier on sale. */
export const DEFAULT_SERVICE_TIER = 'default';

/** Of the models of the contract; it converts `frames` to a length. */
export const FRAMES_PER_SECOND = 24;

/** Fields that POST /v1/videos, the entry in the style of OpenAI, has beside those of the task entry (V 4.7). */
const OWN_FIELDS = ['prompt', 'seconds', 'size', 'input_reference'] as const;

export const VIDEOS_FIELDS: readonly string[] = [...TASK_FIELDS, ...OWN_FIELDS];

/** At most one field of each pair may be given. `prompt` with a text item in `content` is the fourth pair. */
export const EXCLUSIVE_VIDEOS_FIELDS: readonly (readonly [(typeof OWN_FIELDS)[number], VideoParameter | 'content'])[] =
  [
    ['seconds', 'duration'],
    ['seconds', 'frames'],
    ['size', 'resolution'],
    ['size', 'ratio'],
    ['input_reference', 'content'],
  ];
