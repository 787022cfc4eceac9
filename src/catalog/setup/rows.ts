/** Configured objects as rows, for the configuration file and for the admin API. Accounts are in save-account.ts. */
import { newId, type StoredLimits } from '../../core/index.ts';
import { columnsOf, type SetupFile, withoutLimits } from '../../schemas/index.ts';
import type { RowInput } from './save-row.ts';

type Entry<L extends keyof SetupFile> = SetupFile[L][number];
/** Null removes what is stored; what is absent stays. */
type Change<E, N extends keyof E> = { readonly [K in Exclude<keyof E, N>]?: E[K] | null | undefined } & Pick<E, N>;

export const groupRow = ({ id, variant, ...group }: Entry<'groups'>, position: number): RowInput<'groups'> => ({
  table: 'groups',
  identity: { id },
  columns: { ...columnsOf(group), variant: variant ?? null, position },
  defaults: { name: id },
});

/** Without its prices. The order of the models of a group decides about their positions. */
export const modelRow = (
  { id, groups: _, prices: __, cost: ___, valid_from: ____, ...model }: Entry<'models'>,
  group: string,
  position: number,
): RowInput<'models'> => ({
  table: 'models',
  identity: { group_id: group, pattern: id },
  columns: columnsOf(model),
  defaults: { position },
});

/** Without its money. `limits` replace all stored ones. */
export function userRow(user: Change<Entry<'users'>, 'id'>, limits: StoredLimits | undefined): RowInput<'users'> {
  const { id, balance: _, ...members } = withoutLimits(user);
  return { table: 'users', identity: { id }, columns: columnsOf({ ...members, limits }) };
}

export const characterRow = (
  { id, ...character }: Change<Entry<'characters'>, 'id'>,
  position?: number,
): RowInput<'characters'> => ({
  table: 'characters',
  identity: { id },
  columns: { ...columnsOf(character), position },
  defaults: { public_id: newId('char') },
});
