/** Columns, filters and views of the request log. Users never see the account. */
import type { ReadRequest } from '../../../src/schemas/index.ts';
import { durationText } from '../format/time.ts';
import { t } from '../language.ts';
import type { Filter } from './filters.tsx';
import type { Finder } from './picker.tsx';
import { HttpStatus } from './state.tsx';
import type { Column } from './table.tsx';
import type { SavedView } from './table-tools.tsx';
import { Id, Money, None, Time } from './values.tsx';

export function requestColumns(reader: 'operator' | 'user'): Column<ReadRequest>[] {
  const all: (Column<ReadRequest> & { readonly only?: 'operator' })[] = [
    { head: 'Status', cell: ({ status, code }) => <HttpStatus status={status} code={code} />, phone: 'title' },
    { head: 'Time', cell: ({ at }) => <Time at={at} />, phone: 'side' },
    { head: 'Model', cell: ({ model }) => model ?? <None /> },
    { head: 'Operation', cell: ({ operation }) => <span className="muted">{operation}</span> },
    { head: 'User', cell: ({ user }) => user ?? '–', phone: 'hide', only: 'operator' },
    { head: 'Account', cell: ({ account }) => account ?? '–', phone: 'hide', only: 'operator' },
    { head: 'Group', cell: ({ group }) => group ?? '–', phone: 'hide', isExtra: true },
    { head: 'Key', cell: ({ key }) => <Id id={key} canCopy={false} />, phone: 'hide', isExtra: true },
    { head: 'Id', cell: ({ id }) => <Id id={id} />, phone: 'hide', isExtra: true },
    { head: 'Message', cell: ({ message }) => message ?? '', phone: 'hide', isExtra: true },
    {
      head: 'First byte',
      cell: ({ first_byte_ms }) => durationText(first_byte_ms),
      kind: 'number',
      phone: 'hide',
      sort: 'first_byte',
      isLargestFirst: true,
      isExtra: true,
    },
    {
      head: 'Added',
      cell: ({ added_ms }) => durationText(added_ms),
      kind: 'number',
      phone: 'hide',
      only: 'operator',
    },
    {
      head: 'Total',
      cell: ({ total_ms }) => durationText(total_ms),
      kind: 'number',
      phone: 'hide',
      sort: 'total',
      isLargestFirst: true,
    },
    {
      head: 'Charge',
      cell: ({ charge, estimated }) => <Money amount={charge} isEstimated={estimated} />,
      amount: ({ charge, estimated }) => (estimated ? null : charge),
      kind: 'number',
      sort: 'charge',
      isLargestFirst: true,
      isPinned: true,
    },
  ];
  return all.filter(({ only }) => only === undefined || only === reader);
}

/** Filters that both readers have. */
export const requestFilters = (models: Finder | undefined): readonly Filter[] => [
  { name: 'request_id', label: 'Request id', placeholder: t("Ours or the provider's") },
  { name: 'range', label: 'Period', type: 'period' },
  { name: 'status', label: 'Status', accepts: /^[1-5](?:xx|\d\d)$/, placeholder: t('429 or 5xx') },
  { name: 'model', label: 'Model', type: 'part', ...(models && { finder: models }) },
  { name: 'operation', label: 'Operation', type: 'part', placeholder: 'messages', isMore: true },
  { name: 'code', label: 'Error code', type: 'part', placeholder: 'rate_limit', isMore: true },
  {
    name: 'error',
    label: 'Failed by',
    options: [
      ['provider', t('Provider')],
      ['ours', t('Gateway')],
      ['caller', t('Caller')],
    ],
    isMore: true,
  },
];

export const REQUEST_VIEWS: readonly SavedView[] = [
  [t('All calls'), ''],
  [t('Server errors of the last hour'), '?status=5xx&range=1h'],
  [t('Refused keys'), '?status=401'],
  [t('Dearest of the last 24 hours'), '?range=24h&sort=charge'],
  [t('Slowest of the last hour'), '?range=1h&sort=total'],
];
