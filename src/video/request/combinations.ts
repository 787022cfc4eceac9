/**
 * Combinations of content items (V 4.1): missing roles, numbers,
 * roles that exclude or need each other, total audio length, characters.
 */
import { failAt } from '../../core/index.ts';
import { CHARACTER_ROLE, type MediaRole, type RoleCombinations } from '../../rules/index.ts';
import type { CheckedItem, CheckedMedia } from './content.ts';
import { alternatives, invalidField, type TaskTarget, unsupportedField } from './task-request.ts';

/** A media item with its role given or derived, and its index among all items. */
export interface PlacedMedia extends CheckedMedia {
  readonly index: number;
  readonly role: MediaRole;
}

/** Returns the media items in order. Reference errors come last, because V 4 checks content before references. */
export function combineItems(items: readonly CheckedItem[], { sheet }: TaskTarget): readonly PlacedMedia[] {
  const media = items.flatMap((item, index) => (item.type === 'text' ? [] : [placeItem(item, index, items)]));
  checkRoles(media, sheet.combinations);
  checkTotalLength(media, sheet.inlineMedia.audio.length?.maxTotal);
  checkReferences(media);
  return media;
}

/** The only image of a request needs no role. */
function placeItem(item: CheckedMedia, index: number, items: readonly CheckedItem[]): PlacedMedia {
  const isLone = items.filter(({ type }) => type === item.type).length === 1;
  const role = item.role ?? (isLone ? item.rule.loneRole : undefined);
  if (!role) throw invalidField(item.roleParam, 'missing beside other images', `send ${alternatives(item.rule.roles)}`);
  return { ...item, index, role };
}

function checkRoles(media: readonly PlacedMedia[], { maxItems, exclusive, companions }: RoleCombinations): void {
  const seen = new Map<MediaRole, number>();
  for (const { role, roleParam } of media) {
    const count = (seen.get(role) ?? 0) + 1;
    const max = maxItems[role] ?? Number.POSITIVE_INFINITY;
    if (max === 0) throw unsupportedField(roleParam, `the model does not take a ${role}`, 'remove the item');
    if (count > max)
      throw unsupportedField(roleParam, `more than ${max} items with the role ${role}`, `send at most ${max}`);
    seen.set(role, count);
  }
  const setOf = (role: MediaRole): number => exclusive.findIndex((set) => set.includes(role));
  for (const { role, roleParam } of media) {
    const other = media.find((item) => setOf(item.role) !== setOf(role));
    if (other)
      throw unsupportedField(
        roleParam,
        `${role} and ${other.role} do not go together`,
        'send frames or references, not both',
      );
    const needed = companions.find(
      (rule) => rule.role === role && !rule.oneOf.some((companion) => seen.has(companion)),
    );
    if (needed) throw unsupportedField(roleParam, `${role} cannot be sent alone`, `add ${alternatives(needed.oneOf)}`);
  }
}

function checkTotalLength(media: readonly PlacedMedia[], maxTotal: number | undefined): void {
  let seconds = 0;
  for (const { address, param } of media) {
    if (address.form === 'data') seconds += address.length?.min ?? 0;
    if (maxTotal !== undefined && seconds > maxTotal)
      throw invalidField(
        param,
        'the audio items together are longer than allowed',
        `send at most ${maxTotal} seconds in total`,
      );
  }
}

function checkReferences(media: readonly PlacedMedia[]): void {
  for (const { address, param } of media)
    if (address.form === 'reference' && !address.reference)
      throw failAt(
        'invalid_asset_reference',
        param,
        'not a valid reference; send asset:// and an id exactly as it was returned.',
      );
  for (const { address, param, role } of media)
    if (address.form === 'reference' && address.reference?.form === 'character' && role !== CHARACTER_ROLE)
      throw unsupportedField(
        param,
        `a character cannot be a ${role}`,
        `use it as an image with the role ${CHARACTER_ROLE}`,
      );
}
