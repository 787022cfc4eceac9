/** What a video model offers: defaults of its variant, model families by name, overridable per model in the catalog. */
import type { VideoVariant } from '../groups.ts';
import { VARIANT_SHEETS } from './sheets.ts';
import { RATIOS, type Ratio, RESOLUTIONS, type Resolution } from './sizes.ts';

export interface VideoCapabilities {
  readonly resolutions: readonly Resolution[];
  readonly ratios: readonly Ratio[];
  /** The provider can cancel a task that it has not started. Used where the variant can delete (V 3). */
  readonly cancelQueued: boolean;
  /** Seconds of a video whose request gives no length. Undefined when unknown; the hold is then for the longest video. */
  readonly defaultDuration: number | undefined;
}

/** `capabilities` of a model in the configuration file. */
export interface VideoCapabilityOverrides {
  readonly resolutions?: readonly Resolution[];
  readonly ratios?: readonly Ratio[];
  readonly cancel_queued?: boolean;
  readonly default_duration?: number;
}

/** The first match wins. Fast and mini models stop at 720p. */
const FAMILIES: readonly { readonly name: RegExp; readonly flags: VideoCapabilityOverrides }[] = [
  { name: /-(?:fast|mini)(?:-|$)/, flags: { resolutions: ['480p', '720p'] } },
];

/** A variant bounds its models: an override cannot offer a resolution or ratio that the variant lacks. */
export function videoCapabilitiesOf(variant: VideoVariant, overrides: object = {}, model = ''): VideoCapabilities {
  const sheet = VARIANT_SHEETS[variant];
  const family = FAMILIES.find(({ name }) => name.test(model));
  const flags: VideoCapabilityOverrides = { ...family?.flags, ...overrides };
  const { resolutions = RESOLUTIONS, ratios = RATIOS, cancel_queued = true, default_duration } = flags;
  return {
    resolutions: sheet.resolutions.filter((word) => resolutions.includes(word)),
    ratios: sheet.ratios.filter((word) => ratios.includes(word)),
    cancelQueued: cancel_queued,
    defaultDuration: default_duration,
  };
}
