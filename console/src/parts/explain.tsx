/** How a call would be served now, without sending it: for operators. */
import { useQuery } from '@tanstack/react-query';
import type { ExplainedWay, LeftOut, ShownExplanation } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { paths } from '../paths.ts';
import { texts } from '../texts.ts';
import { Dialog, Opener } from './dialog.tsx';
import { Facts, Load } from './page.tsx';
import { ratesText } from './rates.ts';
import { Badge, State, type Tone } from './state.tsx';
import { Countdown, Id, Money } from './values.tsx';

interface ExplainProps {
  readonly call: { readonly key: string; readonly model: string; readonly dialect: string };
  /** The body of the call; the server makes a minimal one without it. */
  readonly body?: object | undefined;
}

export const Explain = ({ call, body }: ExplainProps) => (
  <Opener label="Explain">
    {(close) => (
      <Dialog title={t('Explain')} lead={texts.explain.lead} className="wide" isRead onClose={close}>
        <Plan call={call} body={body} />
      </Dialog>
    )}
  </Opener>
);

const Plan = ({ call, body }: ExplainProps) => {
  const query = useQuery({
    queryKey: ['explain', call, body],
    queryFn: () => admin.explain(call, body),
    gcTime: 0,
    retry: false,
  });
  return (
    <Load query={query} things={texts.explain.things} lines={4}>
      {(plan) => <PlanView plan={plan} />}
    </Load>
  );
};

const PlanView = ({ plan }: { readonly plan: ShownExplanation }) => (
  <div className="stack">
    <p className="notice" data-tone={plan.error ? 'bad' : 'ok'} role="status">
      <strong>
        {plan.error
          ? texts.explain.refused(`${plan.error.status} ${plan.error.code}`)
          : texts.explain.served(plan.way ?? 0)}
      </strong>{' '}
      {plan.error?.message}
    </p>
    <Facts
      rows={[
        ['Call', <code key="call">{plan.endpoint}</code>],
        ['Model', plan.model],
        ['Group', plan.groups.length > 1 ? texts.explain.ofGroups(plan.group, plan.groups.join(', ')) : plan.group],
        ['Body', plan.minimal_body ? texts.explain.minimal : texts.explain.given],
        ['Available', <Money key="available" amount={plan.available} />],
      ]}
    />
    {plan.ways.length > 0 && (
      <ol className="ways" aria-label={t('Ways')}>
        {plan.ways.map((way, n) => (
          <WayView key={`${way.group} ${way.line} ${way.dialect}`} way={way} number={n + 1} serving={plan.way} />
        ))}
      </ol>
    )}
    {plan.left_out.length > 0 && (
      <section className="left-out">
        <h3>{t('Left out')}</h3>
        <ul>
          {plan.left_out.map((one) => (
            <LeftOutLine key={JSON.stringify(one)} one={one} />
          ))}
        </ul>
      </section>
    )}
  </div>
);

interface WayProps {
  readonly way: ExplainedWay;
  readonly number: number;
  readonly serving: number | null;
}

const WayView = ({ way, number, serving }: WayProps) => (
  <li data-serves={number === serving}>
    <div className="way-head">
      <span className="way-number">{number}</span>
      <strong className="break">
        {way.group} / {way.line}
      </strong>
      <Badge>{way.dialect}</Badge>
      <Badge>{t(way.native ? 'native' : 'converted')}</Badge>
      {way.fallback && <Badge tone="held">{t('fallback')}</Badge>}
      <WayState way={way} number={number} serving={serving} />
    </div>
    <Facts
      rows={[
        ['Upstream model', way.upstream_model],
        [
          'Accounts',
          <ul key="accounts" className="way-accounts">
            {way.accounts.map((account) => (
              <li key={account.account}>
                <Id id={account.account} to={paths.account(account.account)} canCopy={false} />{' '}
                <State tone={TONES[account.state]}>
                  {texts.explain.states[account.state]} {account.until !== null && <Countdown until={account.until} />}
                </State>{' '}
                {account.reason && <span className="muted">{account.reason}</span>}
              </li>
            ))}
          </ul>,
        ],
        ['Opaque values', way.opaque === 'none' ? undefined : texts.explain.opaque[way.opaque]],
        ['Dropped', way.dropped.length === 0 ? undefined : way.dropped.join(', ')],
        [
          'Price',
          way.price === null
            ? t('free')
            : texts.explain.price(ratesText(way.rates), way.price, way.group_multiplier, way.user_multiplier),
        ],
        [
          'Max cost',
          <span key="cost" className="row">
            <Money amount={way.max_cost} />
            <State tone={way.covered ? 'ok' : 'bad'}>{t(way.covered ? 'covered' : 'not covered')}</State>
          </span>,
        ],
        ['Error', way.error ? `${way.error.code}: ${way.error.message}` : undefined],
      ]}
    />
  </li>
);

const WayState = ({ way, number, serving }: WayProps) => {
  if (number === serving) return <State tone="ok">{t('serves now')}</State>;
  return way.error ? (
    <State tone="warn">{t('cannot serve now')}</State>
  ) : (
    <State tone="muted">{t('not reached')}</State>
  );
};

const TONES: Readonly<Record<ExplainedWay['accounts'][number]['state'], Tone>> = {
  healthy: 'ok',
  avoided: 'warn',
  cooling: 'warn',
  full: 'warn',
  limited: 'warn',
  parked: 'muted',
  draining: 'held',
  refused_credential: 'bad',
};

const LeftOutLine = ({ one }: { readonly one: LeftOut }) => (
  <li>
    <strong>{[one.group, one.account, one.line, one.dialect].filter((name) => name !== null).join(' · ')}</strong>{' '}
    {texts.explain.reasons[one.reason]} {one.detail && <span className="muted break">{one.detail}</span>}
  </li>
);
