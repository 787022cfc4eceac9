/** Video service groups that a key reaches. */
import type { Key } from '../access/keys/index.ts';
import type { Catalog, Group } from '../catalog/index.ts';
import { fail } from '../core/index.ts';
import type { VideoVariant } from '../rules/index.ts';

export type VideoGroup = Group & { readonly variant: VideoVariant };

/** Video groups in the key's order of preference; by default all, in the order of the configuration. */
export function videoGroupsOf(catalog: Catalog, key: Key): readonly VideoGroup[] {
  const all = catalog.groups().filter((group): group is VideoGroup => group.style === 'video');
  if (key.videoGroups === null) return all;
  return key.videoGroups.flatMap((id) => all.find((group) => group.id === id) ?? []);
}

/** Those of `videoGroupsOf`. Throws when there are none (V 5 r5). */
export function reachableGroups(catalog: Catalog, key: Key): readonly VideoGroup[] {
  const groups = videoGroupsOf(catalog, key);
  if (groups.length === 0) throw fail('asset_route_group_unavailable');
  return groups;
}
