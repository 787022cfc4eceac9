/** Users with their wallets: who runs dry. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { WalletReport } from '../../../src/objects/index.ts';
import { admin } from '../api/admin.ts';
import { Opener } from '../parts/dialog.tsx';
import { type FieldSpec, FormDialog } from '../parts/form.tsx';
import { LIMIT_FIELDS } from '../parts/key-parts.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import type { Column } from '../parts/table.tsx';
import { notify } from '../parts/toast.tsx';
import { Money } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';

const COLUMNS: readonly Column<WalletReport>[] = [
  { head: 'User', cell: ({ user }) => user, phone: 'title' },
  { head: 'Available', cell: ({ available }) => <Money amount={available} />, kind: 'number', phone: 'side' },
  { head: 'Held for tasks', cell: ({ held }) => <Money amount={held} />, kind: 'number', phone: 'label' },
  { head: 'Leased', cell: ({ leased }) => <Money amount={leased} />, kind: 'number', phone: 'hide' },
];

export const Users = () => (
  <Page title={pages.users.title} actions={<MakeUser />}>
    <FilteredList
      page={pages.users}
      name="balances"
      load={admin.balances}
      filters={[
        { name: 'user', label: 'User' },
        { name: 'below', label: 'Available below ($)' },
      ]}
      columns={COLUMNS}
      rowKey={({ user }) => user}
      open={({ user }) => paths.user(user)}
    />
  </Page>
);

const MakeUser = () => {
  const client = useQueryClient();
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
            ...LIMIT_FIELDS(),
          ]}
          submit={async (values) => {
            const { id } = await admin.createUser(values);
            await client.invalidateQueries();
            await navigate({ to: paths.user(id) });
          }}
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
      hint: texts.credit.amount,
    },
    {
      name: 'kind',
      label: 'Kind',
      kind: 'choice',
      options: [
        ['', 'By the sign'],
        ['payment', 'Payment'],
        ['refund', 'Refund'],
        ['adjustment', 'Adjustment'],
      ],
    },
  ],
  { name: 'reason', label: 'Reason', isRequired: true, placeholder: 'Bank transfer' },
  { name: 'reference', label: 'Reference', isRequired: true, placeholder: 'invoice-2026-117' },
];

export const Credit = ({ user }: { readonly user: string }) => {
  const client = useQueryClient();
  return (
    <Opener label="Credit" className="primary">
      {(close) => (
        <FormDialog
          title={`Credit ${user}`}
          explain={texts.credit.explain}
          close={close}
          action="Book credit"
          fields={CREDIT_FIELDS}
          submit={async (values) => {
            await admin.credit({ user, ...values });
            await client.invalidateQueries();
            notify(texts.done.creditBooked);
          }}
        />
      )}
    </Opener>
  );
};
