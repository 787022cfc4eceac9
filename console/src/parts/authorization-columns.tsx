/** Columns of real-person authorizations. Users never see the account. */
import type { OperatorAuthorization, OwnAuthorization } from '../../../src/schemas/index.ts';
import { State, type Tone } from './state.tsx';
import type { Column } from './table.tsx';
import { Id, Time } from './values.tsx';

const TONES: Readonly<Record<OwnAuthorization['status'], Tone>> = {
  pending: 'warn',
  verifying: 'warn',
  completed: 'ok',
  failed: 'bad',
  expired: 'muted',
};
export const AUTHORIZATION_STATES = Object.keys(TONES) as OwnAuthorization['status'][];

export function authorizationColumns(
  reader: 'operator' | 'user',
): Column<OwnAuthorization & Partial<OperatorAuthorization>>[] {
  const all: (Column<OwnAuthorization & Partial<OperatorAuthorization>> & { readonly only?: 'operator' })[] = [
    { head: 'Authorization', cell: ({ id }) => <Id id={id} />, phone: 'title' },
    { head: 'State', cell: ({ status }) => <State tone={TONES[status]}>{status}</State>, phone: 'side' },
    { head: 'Name', cell: ({ name }) => name || '–' },
    { head: 'Asset group', cell: ({ asset_group_id }) => <Id id={asset_group_id} /> },
    { head: 'Service', cell: ({ route_group_name }) => route_group_name, phone: 'hide' },
    { head: 'User', cell: ({ user }) => user, only: 'operator' },
    { head: 'Account', cell: ({ account }) => account, only: 'operator', phone: 'hide' },
    { head: 'Expires', cell: ({ expires_at }) => <Time at={expires_at} />, phone: 'hide' },
    { head: 'Made', cell: ({ created_at }) => <Time at={created_at} />, phone: 'hide' },
  ];
  return all.filter(({ only }) => only === undefined || only === reader);
}
