/** Columns of the request log. Users never see the account. */
import type { ReadRequest } from '../../../src/objects/index.ts';
import { durationText } from '../format/time.ts';
import { HttpStatus } from './state.tsx';
import type { Column } from './table.tsx';
import { Money, Time } from './values.tsx';

export function requestColumns(reader: 'operator' | 'user'): Column<ReadRequest>[] {
  const all: (Column<ReadRequest> & { readonly only?: 'operator' })[] = [
    { head: 'Status', cell: ({ status, code }) => <HttpStatus status={status} code={code} />, phone: 'title' },
    { head: 'Time', cell: ({ at }) => <Time at={at} />, phone: 'side' },
    { head: 'Model', cell: ({ model }) => model ?? '–' },
    { head: 'Operation', cell: ({ operation }) => <span className="muted">{operation}</span>, phone: 'hide' },
    { head: 'User', cell: ({ user }) => user, phone: 'hide', only: 'operator' },
    { head: 'Account', cell: ({ account }) => account ?? '–', phone: 'hide', only: 'operator' },
    {
      head: 'First byte',
      cell: ({ first_byte_ms }) => durationText(first_byte_ms),
      kind: 'number',
      phone: 'hide',
    },
    {
      head: 'Added by us',
      cell: ({ added_ms }) => durationText(added_ms),
      kind: 'number',
      phone: 'hide',
      only: 'operator',
    },
    { head: 'Total', cell: ({ total_ms }) => durationText(total_ms), kind: 'number', phone: 'hide' },
    {
      head: 'Charge',
      cell: ({ charge, estimated }) => <Money amount={charge} isEstimated={estimated} />,
      kind: 'number',
    },
  ];
  return all.filter(({ only }) => only === undefined || only === reader);
}
