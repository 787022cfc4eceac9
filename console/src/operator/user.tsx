/** One user: wallet, keys, limits, and every movement of money. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ShownUser, WalletReport } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { LIMIT_FIELDS, limitsText, OWN_KEY_COLUMNS } from '../parts/key-parts.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Card, Facts, Load, Page } from '../parts/page.tsx';
import { Badge } from '../parts/state.tsx';
import { STATEMENT_COLUMNS } from '../parts/statement.tsx';
import { Table } from '../parts/table.tsx';
import { Money, Time } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { EraseUser } from './erase-user.tsx';
import { MakeKey } from './keys.tsx';
import { Rest } from './review.tsx';
import { operatorTexts } from './texts.ts';
import { Credit, LimitUsed } from './users.tsx';

export const UserPage = () => {
  const { user: id = '' } = useParams({ strict: false });
  const balance = useQuery({ queryKey: ['balances', id], queryFn: () => admin.balance(id) });
  const users = useQuery({ queryKey: ['users', id], queryFn: () => admin.users({ user: id }) });
  const keys = useQuery({ queryKey: ['keys', 'of', id], queryFn: () => admin.keys({ user: id, limit: 50 }) });
  const user = users.data?.data[0];
  const isErased = (user?.erased_at ?? null) !== null;
  return (
    <Page
      title={id}
      parent={{ title: pages.users.title, path: paths.users }}
      beside={isErased && <Badge tone="warn">{t('Erased')}</Badge>}
      actions={
        balance.data && (
          <>
            <Link className="button" to={paths.requests} search={{ user: id } as never}>
              {t('Calls')}
            </Link>
            <Credit user={id} />
            <EraseUser user={id} isErased={isErased} />
          </>
        )
      }
    >
      <div className="stack">
        {isErased && <p className="notice">{operatorTexts.erase.closed}</p>}
        <Load query={balance} things={pages.user.things} lines={2}>
          {(wallet) => <Wallet wallet={wallet} />}
        </Load>
        {balance.data && (
          <>
            <Card title="Keys" actions={!isErased && <MakeKey user={id} />} isFlush>
              <Load query={keys} things={pages.keys.things} lines={3}>
                {({ data, count }) => (
                  <>
                    <Table
                      caption={pages.keys.title}
                      columns={OWN_KEY_COLUMNS}
                      rows={data}
                      rowKey={(key) => key.id}
                      open={(key) => paths.key(key.id)}
                      empty={isErased ? operatorTexts.erase.noKeys : pages.keys.empty}
                    />
                    <Rest shown={data.length} count={count} />
                  </>
                )}
              </Load>
            </Card>
            {user && (
              <Card title="Settings" actions={!isErased && <EditUser user={user} />}>
                <Facts
                  rows={[
                    ['E-mail', user.email ?? '–'],
                    ['Multiplier', `× ${user.multiplier}`],
                    ['Limits', limitsText(user)],
                    ['Own keys', user.max_keys === undefined ? undefined : texts.user.mostKeys(user.max_keys)],
                    ['Made', <Time key="made" at={user.created_at} />],
                    user.erased_at === null ? undefined : ['Erased', <Time key="erased" at={user.erased_at} />],
                  ]}
                />
              </Card>
            )}
            <Card
              title="Statement"
              actions={
                <a className="button" href={admin.statementCsv(id)} download>
                  CSV
                </a>
              }
              isFlush
            >
              <FilteredList
                page={pages.charges}
                name={`statement-${id}`}
                load={(query) => admin.statement(id, query)}
                columns={STATEMENT_COLUMNS}
                rowKey={({ entry }) => entry}
                isPart
              />
            </Card>
          </>
        )}
      </div>
    </Page>
  );
};

const Wallet = ({ wallet }: { readonly wallet: WalletReport }) => (
  <div className="tiles">
    <WalletTile label="Available" amount={wallet.available} />
    <WalletTile label="Held for tasks" amount={wallet.held} />
    <WalletTile label="Spent this month" amount={wallet.spent_month} note={<LimitUsed wallet={wallet} />} />
    {wallet.leased !== undefined && <WalletTile label="Leased" amount={wallet.leased} note={texts.user.leased} />}
  </div>
);

interface WalletTileProps {
  readonly label: string;
  readonly amount: string;
  readonly note?: ReactNode;
}

export const WalletTile = ({ label, amount, note }: WalletTileProps) => (
  <div className="tile">
    <span className="label">{t(label)}</span>
    <span className="value">
      <Money amount={amount} isRounded />
    </span>
    {note && <span className="muted small">{note}</span>}
  </div>
);

const EditUser = ({ user }: { readonly user: ShownUser }) => {
  return (
    <Opener label="Edit user">
      {(close) => (
        <FormDialog
          title={`${t('Change')} ${user.id}`}
          explain={texts.user.limits}
          close={close}
          action="Save user"
          clearsEmpty
          original={user}
          fields={[
            { name: 'email', label: 'E-mail', kind: 'email', value: user.email },
            { name: 'multiplier', label: 'Multiplier', value: user.multiplier, isRequired: true },
            ...(user.max_keys === undefined
              ? []
              : [
                  {
                    name: 'max_keys',
                    label: 'Keys that the user may make',
                    kind: 'number' as const,
                    value: user.max_keys,
                    isRequired: true,
                  },
                ]),
            {
              name: 'video_creates',
              label: 'Video creates a minute',
              kind: 'number' as const,
              value: user.video_creates ?? undefined,
              placeholder: '60',
            },
            [
              {
                name: 'max_files',
                label: 'Files kept',
                kind: 'number' as const,
                value: user.max_files ?? undefined,
                placeholder: '10000',
              },
              {
                name: 'max_file_mib',
                label: 'Files together in MiB',
                kind: 'number' as const,
                value: user.max_file_mib ?? undefined,
                placeholder: '1024',
              },
            ],
            ...LIMIT_FIELDS(user),
          ]}
          submit={(values) => admin.changeUser(user.id, values)}
          refreshes={['users']}
          done={texts.done.userSaved}
        />
      )}
    </Opener>
  );
};
