/** What needs the operator: one sentence and one button each, worst first. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AccountStats, ShownAccount, ShownAlarm } from '../../../src/schemas/index.ts';
import { ageText } from '../format/time.ts';
import { t } from '../language.ts';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { State } from '../parts/state.tsx';
import { paths } from '../paths.ts';
import { texts } from '../texts.ts';
import { healthOf, isBad, reasonOf } from './account-state.tsx';

interface Need {
  readonly key: string;
  readonly sentence: string;
  /** In the words of a provider, or ids. */
  readonly detail: string | undefined;
  readonly action: ReactNode;
}

/** Where an operator acts on each alarm; the others are about servers, which the console cannot start. */
const ALARM_PAGES: Readonly<Record<string, string>> = {
  ledger_faults: paths.ledger,
  usage_quarantined: paths.review,
  video_usage_missing: paths.review,
  callbacks_dead: `${paths.callbacks}?state=dead`,
  charges_above_reservation: paths.models,
  video_submissions_unknown: paths.review,
  accounts_out: paths.accounts,
  groups_without_account: paths.groups,
};

/** Alarms are checked every minute; older ones mean that no worker runs. */
const OLD_CHECK_S = 180;

interface NeedsProps {
  readonly alarms: readonly ShownAlarm[];
  readonly accounts: readonly ShownAccount[];
  readonly stats: ReadonlyMap<string, AccountStats> | undefined;
}

export const Needs = ({ alarms, accounts, stats }: NeedsProps) => {
  const refused = accounts.flatMap((account) => accountNeed(account, stats?.get(account.id)));
  const needs = [
    ...refused,
    // Accounts that have a line of their own are not counted again.
    ...alarms.filter(({ name, count }) => count > (name === 'accounts_out' ? refused.length : 0)).map(alarmNeed),
  ];
  const oldest = Math.max(0, ...alarms.map((alarm) => alarm.checked_seconds_ago));
  return (
    <>
      {oldest > OLD_CHECK_S && (
        <p className="notice" data-tone="warn">
          {texts.needs.worker(ageText(oldest * 1000))}
        </p>
      )}
      {needs.length === 0 ? (
        <p className="notice" data-tone="ok">
          <State tone="ok">{texts.needs.none}</State>
        </p>
      ) : (
        <section className="card needs" aria-labelledby="needs">
          <h2 id="needs">{texts.needs.title(needs.length)}</h2>
          <ul>
            {needs.map(({ key, sentence, detail, action }) => (
              <li key={key}>
                <div>
                  {sentence}
                  {detail && <div className="muted small break">{detail}</div>}
                </div>
                {action}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
};

function accountNeed(account: ShownAccount, stats: AccountStats | undefined): Need[] {
  const health = healthOf(account, stats);
  if (!isBad(health)) return [];
  return [
    {
      key: account.id,
      sentence: texts.needs.accounts[health]?.(account.id) ?? account.id,
      detail: reasonOf(account, stats),
      action: (
        <Link className="button" to={paths.account(account.id)}>
          {texts.needs.openAccount}
        </Link>
      ),
    },
  ];
}

function alarmNeed({ name, count, about, advice, detail }: ShownAlarm): Need {
  const words = texts.needs.alarms[name];
  const path = ALARM_PAGES[name];
  return {
    key: name,
    sentence: words?.sentence(count) ?? `${about.charAt(0).toUpperCase()}${about.slice(1)}.`,
    detail: NAMED.includes(name) ? detail : undefined,
    action:
      path === undefined ? (
        <Opener label={texts.needs.what}>
          {(close) => (
            <Dialog title={texts.needs.what} onClose={close} isRead>
              <p>{`${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`}</p>
              <p className="muted break">{detail}</p>
            </Dialog>
          )}
        </Opener>
      ) : (
        <Link className="button" to={path}>
          {words?.action ?? t('Open')}
        </Link>
      ),
  };
}

/** Alarms whose details are names that an operator knows. */
const NAMED: readonly string[] = ['groups_without_account', 'accounts_out', 'charges_above_reservation'];
