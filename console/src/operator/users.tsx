/** Users with their wallets: who runs dry. */
import { useNavigate } from '@tanstack/react-router';
import type { WalletReport } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { exactMoney } from '../format/money.ts';
import { t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { type FieldSpec, FormDialog } from '../parts/form.tsx';
import { LIMIT_FIELDS } from '../parts/key-parts.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import type { Column } from '../parts/table.tsx';
import { Money, Time } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { operatorTexts } from './texts.ts';

const COLUMNS: readonly Column<WalletReport>[] = [
  { head: 'User', cell: ({ user }) => user, phone: 'title', sort: 'user' },
  {
    head: 'Available',
    cell: ({ available }) => <Money amount={available} isRounded />,
    kind: 'number',
    phone: 'side',
    sort: 'available',
  },
  { head: 'Held for tasks', cell: ({ held }) => <Money amount={held} isRounded />, kind: 'number', phone: 'label' },
  {
    head: 'Spent today',
    cell: ({ spent_day }) => <Money amount={spent_day} isRounded />,
    kind: 'number',
    phone: 'hide',
  },
  {
    head: 'This month',
    cell: ({ spent_month }) => <Money amount={spent_month} isRounded />,
    kind: 'number',
    phone: 'label',
  },
  { head: 'Limit used', cell: (wallet) => <LimitUsed wallet={wallet} /> },
  { head: 'Made', cell: ({ created_at }) => <Time at={created_at} />, phone: 'hide', sort: 'created', isExtra: true },
];

/** The fuller one of the two spend limits. */
export const LimitUsed = ({ wallet }: { readonly wallet: WalletReport }) => {
  const [fullest] = [
    { spent: wallet.spent_day, limit: wallet.spend_day, used: 'usedDay' as const },
    { spent: wallet.spent_month, limit: wallet.spend_month, used: 'usedMonth' as const },
  ]
    .flatMap(({ spent, limit, used }) =>
      limit === null ? [] : [{ share: Number(limit) === 0 ? 1 : Number(spent) / Number(limit), limit, used }],
    )
    .toSorted((one, other) => other.share - one.share);
  if (!fullest) return null;
  const { share, limit, used } = fullest;
  return (
    <span className="limit-used" data-tone={toneOf(share)}>
      <meter aria-label={texts.user.used} min={0} max={1} value={Math.min(1, share)} />
      <span className="nowrap">{texts.user[used](Math.floor(share * 100), exactMoney(limit))}</span>
    </span>
  );
};

const NEAR = 0.8;

function toneOf(share: number): string {
  if (share >= 1) return 'bad';
  return share >= NEAR ? 'warn' : 'ok';
}

export const Users = () => (
  <Page title={pages.users.title} actions={<MakeUser />}>
    <FilteredList
      page={pages.users}
      name="balances"
      load={admin.balances}
      filters={[
        { name: 'user', label: 'User', type: 'part' },
        { name: 'below', label: 'Available below ($)' },
        { name: 'used', label: 'Limit used', options: texts.user.usedShares },
      ]}
      columns={COLUMNS}
      rowKey={({ user }) => user}
      open={({ user }) => paths.user(user)}
    />
  </Page>
);

/** Keys that people of a new user may make, unless the operator says otherwise. */
export const DEFAULT_KEYS = 5;

const MakeUser = () => {
  const navigate = useNavigate();
  return (
    <Opener label="Make user" className="primary">
      {(close) => (
        <FormDialog
          title="Make user"
          explain={texts.user.create}
          close={close}
          action="Make user"
          fields={[
            { name: 'id', label: 'Id', isRequired: true, placeholder: 'ana' },
            { name: 'email', label: 'E-mail', kind: 'email' },
            { name: 'multiplier', label: 'Multiplier', placeholder: '1', hint: texts.user.multiplier },
            { name: 'max_keys', label: 'Own keys', kind: 'number', value: DEFAULT_KEYS, hint: texts.user.ownKeys },
            ...LIMIT_FIELDS(),
          ]}
          submit={async (values) => {
            const { id } = await admin.createUser(values);
            await navigate({ to: paths.user(id) });
          }}
          refreshes="all"
        />
      )}
    </Opener>
  );
};

export const CREDIT_FIELDS: readonly (FieldSpec | readonly FieldSpec[])[] = [
  [
    {
      name: 'amount',
      label: 'Amount in dollars',
      isRequired: true,
      placeholder: '50.00',
      hint: operatorTexts.credit.amount,
    },
    {
      name: 'kind',
      label: 'Kind',
      kind: 'choice',
      options: [
        ['', t('By the sign')],
        ['payment', t('Payment')],
        ['refund', t('Refund')],
        ['adjustment', t('Adjustment')],
      ],
    },
  ],
  { name: 'reason', label: 'Reason', isRequired: true, placeholder: 'Bank transfer' },
  { name: 'reference', label: 'Reference', isRequired: true, placeholder: 'invoice-2026-117' },
];

export const Credit = ({ user }: { readonly user: string }) => {
  return (
    <Opener label="Credit" className="primary">
      {(close) => (
        <FormDialog
          title={`${t('Credit')} ${user}`}
          explain={operatorTexts.credit.explain}
          close={close}
          action="Book credit"
          fields={CREDIT_FIELDS}
          submit={(values) => admin.credit({ user, ...values })}
          refreshes="all"
          done={texts.done.creditBooked}
        />
      )}
    </Opener>
  );
};
