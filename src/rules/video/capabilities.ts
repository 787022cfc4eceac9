/** The sheet of a model: by its name or the variant of its group, with the changes of the operator. */
import type { VideoVariant } from '../groups.ts';
import type { MediaRole } from './content.ts';
import { type IntegerRule, type ParameterRule, VIDEOS_FIELDS } from './parameters.ts';
import type { PriceUnit, SheetCondition, VideoSheet } from './sheet.ts';
import { DELETES_TASKS, KEEPS_TASKS, type SheetName, VIDEO_SHEETS } from './sheets.ts';
import { type FixedRatio, parseSize, type Ratio, type Resolution, sizeWords } from './sizes.ts';

/** False: not a member. True: a boolean. Otherwise its words, or the range of its integers. */
export type MemberChange = boolean | readonly string[] | { readonly min: number; readonly max: number };

/** `capabilities` of a video model in the configuration file: what differs from the sheet that it extends. */
export interface SheetChanges {
  readonly extends?: SheetName;
  readonly unit?: PriceUnit;
  readonly durations?: readonly number[] | { readonly min: number; readonly max: number };
  readonly automatic_duration?: boolean;
  readonly default_duration?: number;
  readonly sizes?: Readonly<Partial<Record<Resolution, Readonly<Partial<Record<FixedRatio, string>>>>>>;
  readonly resolutions?: readonly Resolution[];
  readonly ratios?: readonly Ratio[];
  readonly frames_per_second?: number;
  readonly references?: Readonly<Partial<Record<MediaRole, number>>>;
  readonly exclusive_roles?: readonly (readonly MediaRole[])[];
  readonly companion_roles?: Readonly<Partial<Record<MediaRole, readonly MediaRole[]>>>;
  readonly members?: Readonly<Record<string, MemberChange>>;
  readonly conditions?: readonly SheetCondition[];
  readonly input_video_seconds?: number;
  readonly cancel_queued?: boolean;
  readonly delete_tasks?: boolean;
}

/** Members with a field of their own here, or with a meaning that no sheet changes. */
export const RESERVED_MEMBERS: readonly string[] = [
  ...VIDEOS_FIELDS,
  'duration',
  'resolution',
  'ratio',
  'callback_url',
  'safety_identifier',
  'role',
];

/** Models that are known by name. The first match wins. Fast and mini models stop at 720p. */
const NAMED: readonly { readonly name: RegExp; readonly changes: SheetChanges }[] = [
  { name: /^veo-3[-.]1-lite(?:-|$)/, changes: { extends: 'veo-3.1', resolutions: ['720p', '1080p'] } },
  { name: /^veo-3[-.]1(?:-|$)/, changes: { extends: 'veo-3.1' } },
  { name: /^minimax-hailuo-/i, changes: { extends: 'hailuo' } },
  { name: /seedance-2[-.]5(?:-|$)/, changes: { extends: 'seedance-2.5' } },
  { name: /-(?:fast|mini)(?:-|$)/, changes: { resolutions: ['480p', '720p'] } },
];

const changesOf = (overrides: object, model: string): SheetChanges => ({
  ...NAMED.find(({ name }) => name.test(model))?.changes,
  ...overrides,
});

export function sheetOf(variant: VideoVariant, overrides: object = {}, model = ''): VideoSheet {
  const changes = changesOf(overrides, model);
  return changed(VIDEO_SHEETS[changes.extends ?? variant], changes);
}

/** What `resolutions` and `ratios` of a model may name, and the sheet that has it. */
export function offerable(variant: VideoVariant, overrides: object, model: string) {
  const { extends: name = variant, sizes } = changesOf(overrides, model);
  return { name, ...changedSizes(VIDEO_SHEETS[name], sizes ? { sizes } : {}) };
}

function changed(sheet: VideoSheet, changes: SheetChanges): VideoSheet {
  const { maxItems, exclusive, companions } = sheet.combinations;
  return {
    ...sheet,
    ...changedSizes(sheet, changes),
    unit: changes.unit ?? sheet.unit,
    framesPerSecond: changes.frames_per_second ?? sheet.framesPerSecond,
    parameters: changedParameters(sheet, changes),
    conditions: changes.conditions ?? sheet.conditions,
    defaultDuration: changes.default_duration ?? sheet.defaultDuration,
    inputVideoSeconds: changes.input_video_seconds ?? sheet.inputVideoSeconds,
    combinations: {
      maxItems: { ...maxItems, ...changes.references },
      exclusive: changes.exclusive_roles ?? exclusive,
      companions: changes.companion_roles
        ? Object.entries(changes.companion_roles).map(([role, oneOf]) => ({ role: role as MediaRole, oneOf }))
        : companions,
    },
    cancelQueued: changes.cancel_queued ?? sheet.cancelQueued,
    ...(changes.delete_tasks !== undefined && { deletion: changes.delete_tasks ? DELETES_TASKS : KEEPS_TASKS }),
  };
}

/**
 * A sheet bounds its models: they offer nothing that has no size, and of the sizes of a sheet only those that it
 * offers.
 */
function changedSizes(sheet: VideoSheet, { sizes: given = {}, resolutions, ratios }: SheetChanges) {
  const rows = Object.entries(given).map(([resolution, row]) => [
    resolution,
    Object.fromEntries(Object.entries(row).map(([ratio, size]) => [ratio, parseSize(size)])),
  ]);
  const sizes: VideoSheet['sizes'] = { ...sheet.sizes, ...Object.fromEntries(rows) };
  const known = sizeWords(sizes);
  const added = sizeWords(Object.fromEntries(rows)).ratios;
  return {
    sizes,
    resolutions: known.resolutions.filter(
      (word) => (sheet.resolutions.includes(word) || word in given) && (resolutions?.includes(word) ?? true),
    ),
    ratios: known.ratios.filter(
      (word) =>
        (sheet.ratios.includes(word) || (word !== 'adaptive' && added.includes(word))) &&
        (ratios?.includes(word) ?? true),
    ),
  };
}

/** What differs in the rule of the duration. */
function durationChange({ durations, automatic_duration: isSupported }: SheetChanges): Partial<IntegerRule> {
  const automatic = isSupported === undefined ? {} : { automatic: { value: -1, isSupported } };
  if (!durations || !('length' in durations)) return { ...durations, ...automatic };
  const values = durations.toSorted((a, b) => a - b);
  return { min: values[0] ?? 0, max: values.at(-1) ?? 0, values, ...automatic };
}

function changedParameters(sheet: VideoSheet, changes: SheetChanges): VideoSheet['parameters'] {
  const {
    duration: { values, ...duration },
    ...others
  } = sheet.parameters;
  const given = Object.entries(changes.members ?? {});
  const kept = Object.entries(others).filter(([name]) => changes.members?.[name] !== false);
  const rules = given.flatMap(([name, change]) => (change === false ? [] : [[name, ruleOf(change)] as const]));
  return {
    ...(Object.fromEntries([...kept, ...rules]) as Record<string, ParameterRule>),
    duration: { ...duration, ...(values && !changes.durations && { values }), ...durationChange(changes) },
  };
}

function ruleOf(change: Exclude<MemberChange, false>): ParameterRule {
  if (change === true) return { kind: 'boolean' };
  return 'length' in change ? { kind: 'word', accepted: change } : { kind: 'integer', ...change };
}
