/** Columns of a statement: every movement of a wallet with the balance after it. */
import type { ShownMovement } from '../../../src/schemas/index.ts';
import { t } from '../language.ts';
import type { Column } from './table.tsx';
import { Id, Money, Time } from './values.tsx';

const KINDS: Readonly<Record<string, string>> = {
  usage: t('Usage'),
  charge: t('Charge'),
  credit: t('Credit'),
  settle: t('Video task'),
  excess: t('Above the hold'),
  overdraft: t('Above the balance'),
};

export const STATEMENT_COLUMNS: readonly Column<ShownMovement>[] = [
  { head: 'Time', cell: ({ at }) => <Time at={at} />, phone: 'title' },
  { head: 'Kind', cell: ({ kind }) => KINDS[kind] ?? kind },
  { head: 'Reason', cell: ({ reason }) => <span className="muted">{reason}</span>, kind: 'grow' },
  { head: 'Reference', cell: ({ reference }) => <Id id={reference} canCopy={false} />, phone: 'hide' },
  {
    head: 'Amount',
    cell: ({ amount }) => <Money amount={amount} isMovement />,
    amount: ({ amount }) => amount,
    kind: 'number',
    phone: 'side',
  },
  {
    head: 'Balance',
    cell: ({ balance }) => <Money amount={balance} />,
    amount: ({ balance }) => balance,
    kind: 'number',
    phone: 'label',
  },
];
