/** One account: why it is in or out of use, what it did lately, and what an operator can do about it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type {
  AccountStats,
  LoggedRequest,
  ShownAccount,
  ShownCooldown,
  StatsPoint,
} from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { compactText, countText, shareText } from '../format/count.ts';
import { absoluteTime, durationText } from '../format/time.ts';
import { t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog, REASON_FIELD } from '../parts/form.tsx';
import { POLL_MS } from '../parts/list.tsx';
import { Card, Facts, Load, Page } from '../parts/page.tsx';
import { HttpStatus } from '../parts/state.tsx';
import { Table } from '../parts/table.tsx';
import { notify } from '../parts/toast.tsx';
import { Countdown, Id, Money, Time } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { accountFacts, EditAccount } from './account-form.tsx';
import { AccountHealth, healthOf, inFlightText, isBad, isSimulated, reasonOf } from './account-state.tsx';
import { useGroups } from './catalog.ts';
import { cloudText } from './cloud-fields.ts';
import { testAccount } from './test-account.ts';
import { operatorTexts } from './texts.ts';

export const AccountPage = () => {
  const { account: id = '' } = useParams({ strict: false });
  const query = useQuery({ queryKey: ['accounts', id], queryFn: () => admin.account(id), refetchInterval: POLL_MS });
  const account = query.data;
  const { data: stats } = useQuery({
    queryKey: ['account-stats', 'one', id],
    queryFn: () => admin.accountStats({ account: id, range: '24h' }),
    refetchInterval: 60_000,
  });
  const own = stats?.data[0];
  return (
    <Page
      title={id}
      parent={{ title: pages.accounts.title, path: paths.accounts }}
      beside={account && <AccountHealth account={account} stats={own} />}
      actions={account && <AccountActions account={account} />}
    >
      <Load query={query} things={pages.account.things}>
        {(found) => <AccountView account={found} stats={own} />}
      </Load>
    </Page>
  );
};

const ACTIONS = {
  park: { label: 'Park', action: 'Park account', done: texts.done.accountParked },
  drain: { label: 'Drain', action: 'Drain account', done: texts.done.accountDrained },
  resume: { label: 'Resume', action: 'Resume account', done: texts.done.accountResumed },
} as const;

const AccountActions = ({ account }: { readonly account: ShownAccount }) => {
  const { state } = account;
  const isOut = state === 'parked' || state === 'draining' || state === 'refused_credential';
  return (
    <>
      <TestButton account={account} />
      {(isOut ? (['resume'] as const) : (['park', 'drain'] as const)).map((action) => (
        <Opener key={action} label={ACTIONS[action].label} className={action === 'park' ? 'danger' : ''}>
          {(close) => (
            <FormDialog
              title={`${t(ACTIONS[action].label)} ${account.id}`}
              explain={
                action === 'resume' ? (
                  operatorTexts.account.resume
                ) : (
                  <Consequences account={account.id} action={action} />
                )
              }
              close={close}
              action={ACTIONS[action].action}
              isDanger={action === 'park'}
              fields={action === 'resume' ? [] : [REASON_FIELD]}
              submit={(values) => admin.accountAction(account.id, action, values)}
              refreshes={['accounts']}
              done={ACTIONS[action].done}
            />
          )}
        </Opener>
      ))}
    </>
  );
};

/** Counts what depends on the account, before it is taken out of use. */
const Consequences = ({ account, action }: { readonly account: string; readonly action: 'park' | 'drain' }) => {
  const { data } = useQuery({
    queryKey: ['assets', 'on', account],
    queryFn: () => admin.assets({ account, limit: 1 }),
  });
  const count = data?.count;
  return (
    <>
      {operatorTexts.account[action]}{' '}
      {count !== undefined &&
        count !== 0 &&
        operatorTexts.account.assets(count === null ? '10,000+' : countText(count))}
    </>
  );
};

/** Sends one tiny streamed request, as real traffic does. */
export const TestButton = ({ account }: { readonly account: Pick<ShownAccount, 'id'> }) => {
  const client = useQueryClient();
  return (
    <Opener label="Test">
      {(close) => (
        <FormDialog
          title={`${t('Test')} ${account.id}`}
          explain={operatorTexts.account.test}
          close={close}
          action="Run test"
          fields={[{ name: 'model', label: 'Model', hint: operatorTexts.account.testModel }]}
          submit={async (values) => {
            try {
              notify(await testAccount(account.id, values));
            } finally {
              await client.invalidateQueries({ queryKey: ['accounts'] });
            }
          }}
        />
      )}
    </Opener>
  );
};

interface AccountViewProps {
  readonly account: ShownAccount;
  readonly stats: AccountStats | undefined;
}

const AccountView = ({ account, stats: own }: AccountViewProps) => {
  const series = useQuery({
    queryKey: ['stats', { account: account.id, range: '24h' }],
    queryFn: () => admin.stats({ account: account.id, range: '24h', bucket: 'hour' }),
  });
  const calls = useQuery({
    queryKey: ['requests', 'account', account.id],
    queryFn: () => admin.requests({ account: account.id, limit: 20 }),
    refetchInterval: POLL_MS,
  });
  const style = useGroups().data?.data.find(({ id }) => id === account.group)?.style;
  return (
    <div className="stack">
      <Why account={account} stats={own} />
      {own && <AccountTiles account={account} stats={own} />}
      {series.data && series.data.data.length > 0 && (
        <Card title="Last 24 hours" lead={operatorTexts.account.strip}>
          <HealthStrip points={series.data.data} />
        </Card>
      )}
      {account.cooldowns.length > 0 && (
        <Card title="Cooldowns" lead={operatorTexts.account.tryNow} actions={<TestButton account={account} />} isFlush>
          <Table
            caption="Cooldowns"
            columns={COOLDOWN_COLUMNS}
            rows={account.cooldowns}
            rowKey={({ replica, model, operation }) => `${replica} ${model} ${operation}`}
            empty=""
          />
        </Card>
      )}
      <Card
        title="Latest calls"
        actions={
          <Link to={paths.requests} search={{ account: account.id } as never}>
            {t('All calls')}
          </Link>
        }
        isFlush
      >
        <Load query={calls} things={pages.requests.things} lines={4}>
          {({ data }) => (
            <Table
              caption="Latest calls"
              columns={CALL_COLUMNS}
              rows={data}
              rowKey={({ id }) => id}
              open={({ id }) => paths.request(id)}
              empty={pages.requests.empty}
            />
          )}
        </Load>
      </Card>
      <Card
        title="Settings"
        actions={
          <Opener label="Edit account">
            {(close) => <EditAccount account={account} style={style} close={close} />}
          </Opener>
        }
      >
        <Facts
          rows={[
            ['Simulated', isSimulated(account) ? operatorTexts.overview.simulated : undefined],
            ['Adapter', account.adapter === 'ark' ? undefined : account.adapter],
            ['Cloud', account.cloud ? cloudText(account.cloud) : undefined],
            ...accountFacts(account, style),
            ['Last test', account.last_test ? <LastTest key="test" test={account.last_test} /> : undefined],
            ['Made', absoluteTime(account.created_at)],
          ]}
        />
      </Card>
    </div>
  );
};

const Why = ({ account, stats }: AccountViewProps) => {
  const health = healthOf(account, stats);
  if (health === 'healthy' || health === 'tested') return null;
  const words = reasonOf(account, stats);
  const since = health === 'refused_once' ? stats?.last_fault?.at : (account.since ?? account.last_test?.at);
  return (
    <div className="notice" data-tone={isBad(health) ? 'bad' : 'warn'}>
      <span>{health === 'untested' ? operatorTexts.account.untested : operatorTexts.states[health]}</span>
      {since && (
        <span className="muted">
          {t('since')} <Time at={since} />
        </span>
      )}
      {words && <blockquote>{words}</blockquote>}
    </div>
  );
};

const AccountTiles = ({ account, stats }: { readonly account: ShownAccount; readonly stats: AccountStats }) => (
  <div className="tiles">
    <Tile
      label="In flight"
      value={inFlightText(account)}
      {...(account.learned_concurrency !== null && { note: operatorTexts.account.learned })}
    />
    <Tile
      label="Success, 24 h"
      value={shareText(stats.requests - stats.errors.provider, stats.requests)}
      note={texts.counts.calls(stats.requests)}
    />
    <Tile
      label="First byte p50"
      value={durationText(stats.first_byte_ms.p50)}
      note={`p95 ${durationText(stats.first_byte_ms.p95)}`}
    />
    <Tile
      label="Cache hits"
      value={stats.cache_hit_share === null ? '–' : shareText(stats.cache_hit_share, 1)}
      note={operatorTexts.account.inputTokens(compactText(stats.tokens.input))}
    />
    <div className="tile">
      <span className="label">{t('Cost, 24 h')}</span>
      <span className="value">
        <Money amount={stats.cost} isRounded />
      </span>
    </div>
  </div>
);

const Tile = ({ label, value, note }: { readonly label: string; readonly value: string; readonly note?: string }) => (
  <div className="tile">
    <span className="label">{t(label)}</span>
    <span className="value">{value}</span>
    {note && <span className="muted small">{note}</span>}
  </div>
);

const LastTest = ({ test }: { readonly test: NonNullable<ShownAccount['last_test']> }) => (
  <span>
    {test.ok ? operatorTexts.account.testOk : operatorTexts.account.testFailed(test.message ?? test.reason ?? '')}{' '}
    <Time at={test.at} />
  </span>
);

const CELL = 10;

/** Each cell is an hour: its share of calls that the provider failed. */
const HealthStrip = ({ points }: { readonly points: readonly StatsPoint[] }) => {
  const last = new Date(points.at(-1)?.time ?? 0).getTime();
  const byTime = new Map(points.map((point) => [new Date(point.time).getTime(), point]));
  const hours = Array.from({ length: 24 }, (_, n) => last - (23 - n) * 3_600_000);
  return (
    <div>
      <svg
        className="strip"
        viewBox={`0 0 ${24 * CELL} ${CELL}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={t('Success by hour')}
      >
        {hours.map((time, n) => {
          const point = byTime.get(time);
          return (
            <rect key={time} className={toneOf(point)} x={n * CELL} y="0" width={CELL - 1} height={CELL}>
              <title>
                {absoluteTime(new Date(time).toISOString())}:{' '}
                {point
                  ? operatorTexts.account.hour(texts.counts.calls(point.requests), point.errors.provider)
                  : operatorTexts.account.noCalls}
              </title>
            </rect>
          );
        })}
      </svg>
      <div className="strip-hours" aria-hidden="true">
        {hours.map((time) => (
          <span key={time}>
            {new Date(time).getUTCHours() % 6 === 0 && absoluteTime(new Date(time).toISOString()).slice(11, 16)}
          </span>
        ))}
      </div>
    </div>
  );
};

function toneOf(point: StatsPoint | undefined): string {
  if (!point || point.requests === 0) return 'none';
  const share = point.errors.provider / point.requests;
  if (share === 0) return 'ok';
  return share < 0.2 ? 'some' : 'bad';
}

const COOLDOWN_COLUMNS = [
  {
    head: 'For',
    cell: ({ model, operation }: ShownCooldown) => [operation, model].filter(Boolean).join(' ') || t('whole account'),
  },
  { head: 'Reason', cell: ({ reason }: ShownCooldown) => reason },
  { head: 'Provider', cell: ({ message, provider_code }: ShownCooldown) => message ?? provider_code ?? '–' },
  { head: 'Since', cell: ({ since }: ShownCooldown) => <Time at={since} /> },
  {
    head: 'State',
    cell: ({ state, until }: ShownCooldown) =>
      state === 'half_open' ? (
        operatorTexts.cooldowns[state]
      ) : (
        <>
          {operatorTexts.cooldowns[state]} <Countdown until={until} />
        </>
      ),
  },
  { head: 'Replica', cell: ({ replica, host }: ShownCooldown) => <Id id={host ?? replica} canCopy={false} /> },
] as const;

const CALL_COLUMNS = [
  {
    head: 'Status',
    cell: ({ status, code }: LoggedRequest) => <HttpStatus status={status} code={code} />,
    phone: 'title',
  },
  { head: 'Time', cell: ({ at }: LoggedRequest) => <Time at={at} />, phone: 'side' },
  { head: 'Model', cell: ({ model }: LoggedRequest) => model ?? '–' },
  { head: 'First byte', cell: ({ first_byte_ms }: LoggedRequest) => durationText(first_byte_ms), kind: 'number' },
  { head: 'Charge', cell: ({ charge }: LoggedRequest) => <Money amount={charge} />, kind: 'number' },
] as const;
