/** Destinations of notices: add, test, change, delete. The secret of a webhook is shown once. */
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { DESTINATION_KINDS, type DestinationKind } from '../../../src/rules/warnings.ts';
import type { QuietHours, ShownDestination } from '../../../src/schemas/index.ts';
import type { DestinationPage } from '../api/warnings.ts';
import { durationText } from '../format/time.ts';
import { t } from '../language.ts';
import { pages, texts } from '../texts.ts';
import { Choice } from './choice.tsx';
import { Dialog, Opener } from './dialog.tsx';
import { type FieldSpec, Form, FormDialog, type FormValues } from './form.tsx';
import { Once } from './once.tsx';
import { Load } from './page.tsx';
import { Table } from './table.tsx';
import { notify } from './toast.tsx';
import { warningTexts } from './warning-texts.ts';
import type { WarningTree } from './warning-tree.ts';

const words = warningTexts;

interface DestinationsProps {
  readonly tree: WarningTree;
  readonly query: UseQueryResult<DestinationPage>;
}

export const Destinations = ({ tree, query }: DestinationsProps) => (
  <Load query={query} things={pages.destinations.things}>
    {({ data }) => (
      <Table
        name={`${tree.name}-destinations`}
        caption={pages.destinations.title}
        columns={[
          { head: 'Name', cell: ({ name }) => name, kind: 'prose', phone: 'title' },
          { head: 'Kind', cell: ({ kind }) => words.destinationKinds[kind], phone: 'side' },
          { head: 'To', cell: ({ host, addresses }) => host ?? addresses?.join(', '), kind: 'prose' },
          { head: 'Quiet hours', cell: ({ quiet }) => quietText(quiet), kind: 'prose', phone: 'label' },
          { head: 'Change', cell: (one) => <DestinationActions tree={tree} destination={one} />, kind: 'actions' },
        ]}
        rows={data}
        rowKey={({ id }) => id}
        empty={pages.destinations.empty}
      />
    )}
  </Load>
);

const quietText = (quiet: QuietHours | null): string =>
  quiet === null ? '–' : words.quietTimes(quiet.from, quiet.to, quiet.timezone);

export const AddDestination = ({ tree, hasMail }: { readonly tree: WarningTree; readonly hasMail: boolean }) => {
  const [kind, setKind] = useState<DestinationKind>('webhook');
  const [made, setMade] = useState<ShownDestination>();
  return (
    <>
      <Opener label="Add destination" className="primary">
        {(close) => (
          <Dialog title={t('Add destination')} onClose={close}>
            <div className="fields">
              <Choice
                label="Kind"
                value={kind}
                options={DESTINATION_KINDS.filter((name) => hasMail || name !== 'mail').map(
                  (name) => [name, words.destinationKinds[name]] as const,
                )}
                onChange={(name) => setKind(name as DestinationKind)}
              />
              {!hasMail && <span className="muted small">{words.noMail}</span>}
            </div>
            <Form
              key={kind}
              fields={[
                { name: 'name', label: 'Name' },
                kind === 'mail'
                  ? addressField(tree)
                  : { name: 'url', label: 'URL', isRequired: true, hint: words.url, placeholder: 'https://' },
                ...quietFields(null),
              ]}
              action="Add destination"
              cancel={close}
              submit={async (values) => {
                const { quiet, ...rest } = withQuiet(values);
                const destination = await tree.api.createDestination({ kind, ...rest, ...(quiet ? { quiet } : {}) });
                if (destination.secret !== undefined) setMade(destination);
              }}
              refreshes={[tree.name]}
              done={texts.done.destinationSaved}
              finish={close}
            />
          </Dialog>
        )}
      </Opener>
      {made && (
        <Once
          title={`${t('Secret of')} ${made.name}`}
          warning={words.secretOnce}
          value={made.secret ?? ''}
          close={() => setMade(undefined)}
        />
      )}
    </>
  );
};

const addressField = (tree: WarningTree, value?: readonly string[] | null): FieldSpec => ({
  name: 'addresses',
  label: 'Addresses',
  kind: 'list',
  isRequired: true,
  hint: tree.audience === 'user' ? words.ownAddresses : texts.form.list,
  value,
});

const quietFields = (quiet: QuietHours | null): (FieldSpec | readonly FieldSpec[])[] => [
  [
    { name: 'quiet.from', label: 'Quiet from', placeholder: '22:00', value: quiet?.from },
    { name: 'quiet.to', label: 'Quiet until', placeholder: '07:00', value: quiet?.to },
  ],
  {
    name: 'quiet.timezone',
    label: 'Time zone',
    value: quiet?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    hint: words.quiet,
  },
];

/** Without both times there are no quiet hours. A change without these fields keeps them. */
function withQuiet(values: FormValues): FormValues {
  const parts = Object.entries(values).filter(([name]) => name.startsWith(QUIET));
  if (parts.length === 0) return values;
  const quiet = Object.fromEntries(parts.map(([name, value]) => [name.slice(QUIET.length), value]));
  if ((quiet.from === undefined) !== (quiet.to === undefined)) throw new Error(words.quietPair);
  const rest = Object.entries(values).filter(([name]) => !name.startsWith(QUIET));
  return { ...Object.fromEntries(rest), quiet: quiet.from === undefined ? null : quiet };
}

const QUIET = 'quiet.';

const DestinationActions = ({
  tree,
  destination,
}: {
  readonly tree: WarningTree;
  readonly destination: ShownDestination;
}) => {
  const [isBusy, setBusy] = useState(false);
  const { id, name, kind, addresses, quiet } = destination;
  const test = async (): Promise<void> => {
    setBusy(true);
    try {
      const { delivered, status, error, duration_ms } = await tree.api.testDestination(id);
      notify(
        delivered ? words.tested(name, durationText(duration_ms)) : words.testFailed(name, String(status ?? error)),
      );
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <span className="row">
      <button type="button" disabled={isBusy} onClick={() => void test()}>
        {t('Test')}
      </button>
      <Opener label="Edit">
        {(close) => (
          <FormDialog
            title={`${t('Change')} ${name}`}
            close={close}
            action="Save destination"
            original={destination}
            fields={[
              { name: 'name', label: 'Name', value: name, isRequired: true },
              ...(kind === 'mail' ? [addressField(tree, addresses)] : []),
              ...quietFields(quiet),
            ]}
            submit={(values) => tree.api.changeDestination(id, withQuiet(values))}
            refreshes={[tree.name]}
            done={texts.done.destinationSaved}
          />
        )}
      </Opener>
      <Opener label="Delete" className="danger">
        {(close) => (
          <FormDialog
            title={`${t('Delete')} ${name}`}
            explain={words.removeDestination}
            close={close}
            action="Delete destination"
            isDanger
            fields={[]}
            submit={() => tree.api.deleteDestination(id)}
            refreshes={[tree.name]}
          />
        )}
      </Opener>
    </span>
  );
};
