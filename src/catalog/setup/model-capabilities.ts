/** Checks of the capabilities of models: a video model has members of its own, bounded by the variant of its group. */
import { VARIANT_SHEETS, type VideoVariant } from '../../rules/index.ts';
import { isVideoCapability, type ModelCapabilities, type SetupFile } from '../../schemas/index.ts';

/** What a group is: its style and, for video groups, its variant. */
export interface GroupKind {
  readonly style: string;
  readonly variant: VideoVariant | undefined;
}

export function checkModelCapabilities(file: SetupFile, groups: ReadonlyMap<string, GroupKind>): string[] {
  return file.models.flatMap(({ capabilities = {}, free, groups: ids }, index) => {
    const kinds = ids.flatMap((id) => groups.get(id) ?? []);
    const variants = kinds.flatMap(({ variant }) => variant ?? []);
    if (free && variants.length > 0)
      return [`models[${index}].free: found true, expected a price; video models have one`];
    const foreign = Object.keys(capabilities).filter((name) =>
      kinds.some(({ style }) => (style === 'video') !== isVideoCapability(name)),
    );
    return [
      ...foreign.map((name) => `models[${index}].capabilities.${name}: no such field of ${kindOf(kinds)} models`),
      ...variants.flatMap((variant) => beyondVariant(capabilities, variant, index)),
    ];
  });
}

const kindOf = (kinds: readonly GroupKind[]): string =>
  kinds.some(({ style }) => style === 'video') ? 'video' : 'text and image';

/** A model of the variant cannot offer more. A list without a valid value would leave nothing to offer. */
function beyondVariant(capabilities: ModelCapabilities, variant: VideoVariant, index: number): string[] {
  const sheet = VARIANT_SHEETS[variant];
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
