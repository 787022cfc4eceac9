/** The caller of a request: its key with the user, and the key's group. */
import type { Account, Catalog, Group } from '../catalog/index.ts';
import type { Key } from '../identity/index.ts';
import type { Dialect, Style } from '../rules/index.ts';

export interface Caller {
  readonly key: Key;
  readonly group: Group & { readonly style: Style };
}

/** The accounts of the caller's group that speak a dialect. */
export const accountsSpeaking = (catalog: Catalog, { group }: Caller, dialect: Dialect): readonly Account[] =>
  catalog.accounts(group.id).filter(({ features }) => features.has(dialect));
