/** Models that a key of the user can call: what each costs and accepts, and the command to try it. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { GroupStyle, OwnKey, OwnModel } from '../../../src/schemas/index.ts';
import { countText } from '../format/count.ts';
import { choices, t } from '../language.ts';
import { Snippet } from '../parts/code.tsx';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { FilterBar } from '../parts/filters.tsx';
import { Load, Page } from '../parts/page.tsx';
import { rateOf, ratesText } from '../parts/rates.ts';
import { Badge } from '../parts/state.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { TableTools } from '../parts/table-tools.tsx';
import { Money } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { type Search, withFilter } from '../search.ts';
import { pages, texts } from '../texts.ts';
import { NoKeys, useMyKeys } from './keys.tsx';
import { commandFor } from './model-command.ts';
import { useModels } from './play/calls.ts';

export const MyModels = () => {
  const keys = useMyKeys();
  return (
    <Page title={pages.myModels.title} lead={pages.myModels.lead}>
      <Load query={keys} things={pages.keys.things}>
        {({ data }) => <ModelsOf keys={data.filter(({ state }) => state === 'valid')} />}
      </Load>
    </Page>
  );
};

const ModelsOf = ({ keys }: { readonly keys: readonly OwnKey[] }) => {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const key = keys.find(({ id }) => id === search.key) ?? keys[0];
  const models = useModels(key?.id);
  if (!key) return <NoKeys />;
  const kinds = [...new Set((models.data?.data ?? []).map(({ kind }) => kind))];
  return (
    <>
      <FilterBar
        filters={[
          {
            name: 'key',
            label: 'Key',
            options: keys.map(({ id, name, group }) => [id, `${name} (${group})`] as const),
          },
          { name: 'kind', label: 'Kind', options: choices(kinds) },
        ]}
        search={{ ...search, key: key.id }}
        change={(name, value) =>
          void navigate({ to: '.', search: () => withFilter(search, name, value), replace: true })
        }
      />
      <TableTools name="my-models" columns={columnsOf(key)} />
      <Load query={models} things={pages.models.things}>
        {({ data }) => (
          <Table
            name="my-models"
            caption={pages.myModels.title}
            columns={columnsOf(key)}
            rows={data.filter(({ kind }) => search.kind === undefined || kind === search.kind)}
            rowKey={({ group, id }) => `${group} ${id}`}
            empty={pages.myModels.empty}
          />
        )}
      </Load>
    </>
  );
};

const rateColumn = (head: string, rate: string): Column<OwnModel> => ({
  head,
  cell: ({ prices }) => <Money amount={rateOf(prices, rate)} />,
  kind: 'number',
  phone: 'label',
});

const columnsOf = (key: OwnKey): readonly Column<OwnModel>[] => [
  { head: 'Model', cell: ({ id }) => <code>{id}</code>, phone: 'title' },
  { head: 'Kind', cell: ({ kind }) => <Badge>{t(kind)}</Badge>, phone: 'side' },
  rateColumn('Input', 'input'),
  rateColumn('Output', 'output'),
  { head: 'Other prices', cell: (model) => <Aside text={otherPrices(model)} />, kind: 'prose', phone: 'hide' },
  {
    head: 'Context',
    cell: ({ context }) => (context === null ? '' : countText(context)),
    value: ({ context }) => context ?? undefined,
    kind: 'number',
    phone: 'hide',
    isExtra: true,
  },
  {
    head: 'Accepts',
    cell: ({ accepts }) => <Aside text={accepts.filter((one) => !RATIO.test(one)).join(', ')} />,
    kind: 'prose',
    phone: 'hide',
  },
  { head: 'Try', cell: (model) => <Try model={model} keyOf={key} />, kind: 'actions' },
];

const Aside = ({ text }: { readonly text: string }) => <span className="muted">{text}</span>;

/** The playground and the estimate know the ratios of a video model. */
const RATIO = /^(?:\d+:\d+|adaptive)$/;

const otherPrices = ({ prices }: OwnModel): string => {
  if (prices === null) return texts.model.free;
  const { input: _, output: __, ...rest } = prices;
  return ratesText(rest);
};

const Try = ({ model, keyOf: { id, style } }: { readonly model: OwnModel; readonly keyOf: OwnKey }) => (
  <span className="row">
    <Opener label="Command" className="quiet">
      {(close) => (
        <Dialog title={model.id} onClose={close} isRead>
          <Snippet text={commandFor(model, (style ?? 'responses') as GroupStyle)} />
        </Dialog>
      )}
    </Opener>
    <Link to={paths.playground} search={{ key: id, form: model.kind, model: model.id } as never}>
      {t('Playground')}
    </Link>
  </span>
);
