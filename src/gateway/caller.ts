/** The caller of a request: its key with the user, and the key's group. */
import type { Group } from '../catalog/index.ts';
import type { Key } from '../identity/index.ts';
import type { Style } from '../rules/index.ts';

export interface Caller {
  readonly key: Key;
  readonly group: Group & { readonly style: Style };
}
