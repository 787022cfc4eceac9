/** The caller of a request: its key with the user, and the key's group. */
import type { Key } from '../access/keys/index.ts';
import type { Catalog, Group, Model } from '../catalog/index.ts';
import type { Style } from '../rules/index.ts';

export interface Caller {
  readonly key: Key;
  /** One of the key's, or that of `fallback`. */
  readonly group: Group & { readonly style: Style };
  /**
   * The line of another group that takes the call: as the configuration names it,
   * and as a model with the name that the caller uses.
   */
  readonly fallback?: { readonly line: string; readonly model: Model };
}

export const callersOf = (catalog: Catalog, key: Key): Caller[] =>
  key.groups.flatMap((id) => {
    const group = catalog.group(id);
    return group && group.style !== 'video' ? [{ key, group: group as Caller['group'] }] : [];
  });
