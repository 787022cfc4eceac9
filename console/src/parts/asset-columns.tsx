/** Columns of private assets. Users never see the account. */
import type { ReadAsset } from '../../../src/schemas/index.ts';
import { State, type Tone } from './state.tsx';
import type { Column } from './table.tsx';
import { Id, Time } from './values.tsx';

const TONES: Readonly<Record<string, Tone>> = {
  creating: 'warn',
  processing: 'warn',
  active: 'ok',
  failed: 'bad',
  create_unknown: 'bad',
  delete_failed: 'bad',
};
export const ASSET_STATES = [
  'creating',
  'processing',
  'active',
  'failed',
  'create_unknown',
  'invalid',
  'deleting',
  'delete_failed',
] as const;

const isoOf = (at: number | string): string => (typeof at === 'number' ? new Date(at * 1000).toISOString() : at);

export function assetColumns(reader: 'operator' | 'user'): Column<ReadAsset>[] {
  const all: (Column<ReadAsset> & { readonly only?: 'operator' })[] = [
    { head: 'Name', cell: ({ name }) => name, phone: 'title' },
    {
      head: 'State',
      cell: ({ status }) => <State tone={TONES[status] ?? 'muted'}>{status}</State>,
      phone: 'side',
    },
    { head: 'Asset', cell: ({ id }) => <Id id={id} /> },
    { head: 'Type', cell: ({ asset_type }) => asset_type },
    { head: 'Group', cell: ({ route_group_name }) => route_group_name, phone: 'hide' },
    { head: 'User', cell: ({ user }) => user, only: 'operator' },
    { head: 'Account', cell: ({ account }) => account, only: 'operator', phone: 'hide' },
    { head: 'Made', cell: ({ created_at }) => <Time at={isoOf(created_at)} />, phone: 'hide' },
  ];
  return all.filter(({ only }) => only === undefined || only === reader);
}
