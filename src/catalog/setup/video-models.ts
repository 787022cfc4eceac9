/** Checks of models in video groups: their `capabilities` are a closed list of members, bounded by the variant of the group. */
import { z } from 'zod';
import * as rules from '../../rules/index.ts';
import type { SetupFile } from '../../schemas/index.ts';
import { issuesOf } from './issues.ts';

const VideoCapabilitiesEntry = z.strictObject({
  resolutions: z.array(z.enum(rules.RESOLUTIONS)).min(1).optional(),
  ratios: z.array(z.enum(rules.RATIOS)).min(1).optional(),
  cancel_queued: z.boolean().optional(),
  default_duration: z.number().int().min(rules.MIN_DURATION_S).max(rules.MAX_DURATION_S).optional(),
});
type VideoCapabilitiesEntry = z.infer<typeof VideoCapabilitiesEntry>;

/** What a group is: its style and, for video groups, its variant. */
export interface GroupKind {
  readonly style: string;
  readonly variant: rules.VideoVariant | undefined;
}

export function checkVideoModels(file: SetupFile, groups: ReadonlyMap<string, GroupKind>): string[] {
  return file.models.flatMap(({ capabilities, free, groups: ids }, index) => {
    const variants = ids.flatMap((id) => groups.get(id)?.variant ?? []);
    if (free && variants.length > 0)
      return [`models[${index}].free: found true, expected a price; video models have one`];
    if (capabilities === undefined || variants.length === 0) return [];
    const path = ['models', index, 'capabilities'];
    const { success, data, error } = VideoCapabilitiesEntry.safeParse(capabilities);
    return success
      ? variants.flatMap((variant) => beyondVariant(data, variant, index))
      : issuesOf(within(path, error), file);
  });
}

/** The issues of a part of the file, with their path from its top. */
const within = (path: readonly PropertyKey[], { issues }: z.ZodError) =>
  new z.ZodError(issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] })));

/** A model of the variant cannot offer more. A list without a valid value would leave nothing to offer. */
function beyondVariant(capabilities: VideoCapabilitiesEntry, variant: rules.VideoVariant, index: number): string[] {
  const sheet = rules.VARIANT_SHEETS[variant];
  return (['resolutions', 'ratios'] as const).flatMap((name) => {
    const possible: readonly string[] = sheet[name];
    return (capabilities[name] ?? []).flatMap((word, n) =>
      possible.includes(word)
        ? []
        : [
            `models[${index}].capabilities.${name}[${n}]: found "${word}", expected one of ${possible.join(', ')}, which variant ${variant} has`,
          ],
    );
  });
}
