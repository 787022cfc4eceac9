/** The caller of a request: its key with the user, and the key's group. */
import type { Key } from '../access/keys/index.ts';
import type { Group, Model } from '../catalog/index.ts';
import type { Style } from '../rules/index.ts';

export interface Caller {
  readonly key: Key;
  /** That of the key, or that of `fallback`. */
  readonly group: Group & { readonly style: Style };
  /** The line of another group that takes the call: as the configuration names it, and as a model with the name that the caller uses. */
  readonly fallback?: { readonly line: string; readonly model: Model };
}
