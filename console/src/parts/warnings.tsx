/**
 * Warnings, in both trees: rules, destinations, and what was sent. The tree decides which API is asked and what can be
 * watched.
 */
import { useQuery } from '@tanstack/react-query';
import type { NOTICE_DELIVERY_STATES } from '../../../src/rules/warnings.ts';
import type { ShownNotice } from '../../../src/schemas/index.ts';
import { t } from '../language.ts';
import { pages } from '../texts.ts';
import { FilteredList } from './list.tsx';
import { Page } from './page.tsx';
import { State, type Tone } from './state.tsx';
import type { Column } from './table.tsx';
import { Tabs, useTab } from './tabs.tsx';
import { Countdown, Time, useNow } from './values.tsx';
import { AddDestination, Destinations } from './warning-destinations.tsx';
import { AddRule, Rules } from './warning-rules.tsx';
import { warningTexts } from './warning-texts.ts';
import type { WarningTree } from './warning-tree.ts';

const words = warningTexts;

export const WarningPages = ({ tree }: { readonly tree: WarningTree }) => {
  const tab = useTab(['rules', 'destinations', 'sent']);
  const destinations = useQuery({ queryKey: [tree.name, 'destinations'], queryFn: tree.api.destinations });
  return (
    <Page
      title={pages.warnings.title}
      lead={pages.warnings.lead}
      beside={<Tabs labels={words.tabs} chosen={tab} />}
      actions={
        <>
          {tab === 'rules' && <AddRule tree={tree} destinations={destinations.data?.data ?? []} />}
          {tab === 'destinations' && <AddDestination tree={tree} hasMail={destinations.data?.mail === true} />}
        </>
      }
    >
      {tab === 'rules' && <Rules tree={tree} destinations={destinations.data?.data} />}
      {tab === 'destinations' && <Destinations tree={tree} query={destinations} />}
      {tab === 'sent' && (
        <FilteredList
          page={pages.notices}
          name={`${tree.name}-notices`}
          load={tree.api.notices}
          columns={NOTICE_COLUMNS}
          rowKey={({ id }) => id}
          isLive
        />
      )}
    </Page>
  );
};

const TONES: Readonly<Record<(typeof NOTICE_DELIVERY_STATES)[number], Tone>> = {
  pending: 'warn',
  delivered: 'ok',
  dead: 'bad',
  dropped: 'bad',
};

const NOTICE_COLUMNS: readonly Column<ShownNotice>[] = [
  { head: 'Notice', cell: (notice) => <NoticeText {...notice} />, kind: 'prose', phone: 'title' },
  { head: 'Deliveries', cell: ({ deliveries }) => <Deliveries rows={deliveries} />, kind: 'prose' },
  { head: 'Time', cell: ({ created_at }) => <Time at={created_at} />, phone: 'side' },
];

const NoticeText = ({ title, count, subjects }: ShownNotice) => (
  <>
    {title}
    {count > 1 && (
      <span className="muted small"> {subjects.map(({ id, value }) => `${id} (${value})`).join(', ')}</span>
    )}
  </>
);

const Deliveries = ({ rows }: { readonly rows: ShownNotice['deliveries'] }) => {
  const now = useNow();
  return rows.length === 0 ? (
    <span className="muted">{words.noDelivery}</span>
  ) : (
    <div>
      {rows.map(({ destination, name, state, last_status, last_error, next_attempt_at }) => (
        <div key={destination}>
          {name ?? words.deleted}{' '}
          <State tone={TONES[state]}>
            {t(state)}
            {state !== 'delivered' && (last_status ?? last_error) !== null && ` (${last_status ?? last_error})`}
          </State>
          {next_attempt_at && Date.parse(next_attempt_at) > now && (
            <span className="muted small">
              {' '}
              {t('next try in')} <Countdown until={next_attempt_at} />
            </span>
          )}
        </div>
      ))}
    </div>
  );
};
