/** Groups: what a key opens. */
import { Link } from '@tanstack/react-router';
import type { ShownAccount, ShownGroup } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { POLL_MS } from '../parts/list.tsx';
import { Load, Page } from '../parts/page.tsx';
import { State, type Tone } from '../parts/state.tsx';
import { Table } from '../parts/table.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { useAccounts, useGroups } from './catalog.ts';
import { operatorTexts } from './texts.ts';

export const Groups = () => {
  const groups = useGroups();
  const { data: accounts } = useAccounts(POLL_MS);
  const accountsOf = (group: ShownGroup): readonly ShownAccount[] =>
    accounts?.data.filter(({ groups }) => groups.includes(group.id)) ?? [];
  return (
    <Page title={pages.groups.title} lead={pages.groups.lead} actions={<GroupForm />}>
      <Load query={groups} things={pages.groups.things}>
        {({ data }) => (
          <Table
            caption={pages.groups.title}
            rows={data}
            rowKey={({ id }) => id}
            empty={pages.groups.empty}
            columns={[
              { head: 'Group', cell: ({ id }) => <strong>{id}</strong>, phone: 'title' },
              { head: 'Name', cell: ({ name }) => name },
              { head: 'Style', cell: ({ style, variant }) => (variant ? `${style} ${variant}` : style) },
              {
                head: 'Accounts',
                cell: (group) => <AccountsUp group={group} accounts={accountsOf(group)} />,
                phone: 'side',
              },
              { head: 'Multiplier', cell: ({ multiplier }) => `× ${multiplier}`, kind: 'number', phone: 'label' },
              {
                head: 'Pages',
                cell: ({ id }) => (
                  <span className="row">
                    <Link to={paths.models} search={{ group: id } as never}>
                      {t('Models')}
                    </Link>
                    <Link to={paths.requests} search={{ group: id } as never}>
                      {t('Calls')}
                    </Link>
                  </span>
                ),
              },
              { head: 'Edit', cell: (group) => <GroupForm group={group} />, kind: 'actions' },
            ]}
          />
        )}
      </Load>
    </Page>
  );
};

const AccountsUp = ({
  group,
  accounts,
}: {
  readonly group: ShownGroup;
  readonly accounts: readonly ShownAccount[];
}) => {
  const up = accounts.filter((account) => ['healthy', 'full'].includes(account.state)).length;
  return (
    <Link to={paths.accounts} search={{ group: group.id } as never}>
      <State tone={toneOf(up, accounts.length)}>
        {up === 0 ? t('No usable account') : operatorTexts.group.up(up, accounts.length)}
      </State>
    </Link>
  );
};

function toneOf(up: number, all: number): Tone {
  if (up === 0) return 'bad';
  return up < all ? 'warn' : 'ok';
}

const GroupForm = ({ group }: { readonly group?: ShownGroup }) => {
  return (
    <Opener label={group ? 'Edit' : 'Add group'} className={group ? '' : 'primary'}>
      {(close) => (
        <FormDialog
          title={group ? `${t('Change')} ${group.id}` : 'Add group'}
          close={close}
          action={group ? 'Save group' : 'Add group'}
          fields={[
            ...(group
              ? []
              : [
                  { name: 'id', label: 'Id', isRequired: true, placeholder: 'openai' },
                  {
                    name: 'style',
                    label: 'Style',
                    kind: 'choice' as const,
                    options: ['responses', 'messages', 'generate-content', 'video'],
                  },
                  {
                    name: 'variant',
                    label: 'Variant',
                    kind: 'choice' as const,
                    options: [['', t('none')], 'A', 'EP', 'HC'] as const,
                    hint: operatorTexts.group.variant,
                  },
                ]),
            { name: 'name', label: 'Name', value: group?.name },
            {
              name: 'multiplier',
              label: 'Multiplier',
              value: group?.multiplier,
              placeholder: '1',
              hint: operatorTexts.group.multiplier,
            },
            {
              name: 'unknown_members',
              label: 'Unknown members',
              kind: 'choice' as const,
              value: group?.unknown_members,
              options: ['bound', 'reject'],
              hint: operatorTexts.group.unknownMembers,
            },
          ]}
          original={group}
          submit={(values) => {
            const fixed = group && {
              id: group.id,
              style: group.style,
              ...(group.variant !== null && { variant: group.variant }),
            };
            const document = { groups: [{ ...fixed, ...values }] };
            return group ? admin.applyConfig(document) : admin.create(document);
          }}
          refreshes={['groups']}
          done={texts.done.groupSaved}
        />
      )}
    </Opener>
  );
};
