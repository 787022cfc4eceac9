/** The accounts of a caller's group that speak a dialect. */
import type { Account, Catalog } from '../catalog/index.ts';
import type { Dialect } from '../rules/index.ts';
import type { Caller } from './caller.ts';

export const speakersOf = (catalog: Catalog, { group }: Caller, dialect: Dialect): readonly Account[] =>
  catalog.accounts(group.id).filter(({ features }) => features.has(dialect));
