/** One line of the catalog: its prices with their history, and a calculator. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ShownModel, ShownPrice } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Json } from '../parts/code.tsx';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { Card, Facts, Load, Page } from '../parts/page.tsx';
import { ratesText } from '../parts/rates.ts';
import { Badge, State } from '../parts/state.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { actorText } from './audit-line.ts';
import { Calculator } from './calculator.tsx';
import { useGroups, useModels } from './catalog.ts';
import { EditCapabilities } from './model-capabilities.tsx';
import { EditFallback } from './model-fallback.tsx';
import { priceFields, pricesIn } from './models.tsx';

const PRICE_COLUMNS: readonly Column<ShownPrice>[] = [
  { head: 'Price', cell: ({ id }) => id, phone: 'title' },
  { head: 'Valid from', cell: ({ valid_from }) => <ValidFrom at={valid_from} />, phone: 'side' },
  { head: 'Users pay', cell: ({ prices }) => ratesText(prices), kind: 'grow' },
  { head: 'Provider charges', cell: ({ cost }) => ratesText(cost) || texts.model.noCost, kind: 'grow' },
  { head: 'Set by', cell: ({ set_by }) => <SetBy by={set_by} /> },
  { head: 'Note', cell: ({ removed }) => (removed ? <Badge>{t('removed')}</Badge> : '') },
];

/** A price of the future is not in force. */
const ValidFrom = ({ at }: { readonly at: string }) => (
  <>
    <Time at={at} /> {Date.parse(at) > Date.now() && <Badge>{t('planned')}</Badge>}
  </>
);

const SetBy = ({ by }: { readonly by: ShownPrice['set_by'] }) =>
  by === null ? <span className="muted">–</span> : actorText({ actor: by.actor, actor_name: by.name });

export const ModelPage = () => {
  const { group = '', model: id = '' } = useParams({ strict: false });
  const models = useModels();
  const model = models.data?.data.find((one) => one.group === group && one.id === id);
  const style = useGroups().data?.data.find((one) => one.id === group)?.style;
  const prices = useQuery({
    queryKey: ['models', 'prices', group, id],
    queryFn: () => admin.prices({ group, model: id, limit: 100 }),
  });
  return (
    <Page
      title={<code>{id}</code>}
      name={id}
      parent={{ title: pages.models.title, path: paths.models }}
      beside={model && model.prices === null && !model.free && <State tone="bad">{texts.model.unpriced}</State>}
      actions={
        model && (
          <>
            {style !== 'video' && <EditFallback model={model} />}
            <EditCapabilities model={model} />
            <EditPrice model={model} />
          </>
        )
      }
    >
      <div className="stack">
        {model && (
          <Card>
            <Facts
              rows={[
                ['Group', model.group],
                ['Upstream name', model.upstream ?? t('the same')],
                ['Context', model.context ?? undefined],
                ['Max output', model.max_output ?? undefined],
                ['Fallback', model.fallback.join(', ') || undefined],
                ['Users pay', ratesText(model.prices) || (model.free ? texts.model.free : texts.model.unpriced)],
                ['Provider charges', ratesText(model.cost) || texts.model.noCost],
                [
                  'Calls',
                  id.includes('*') ? undefined : (
                    <Link key="calls" to={paths.requests} search={{ model: id } as never}>
                      {t('Its calls')}
                    </Link>
                  ),
                ],
              ]}
            />
            {model.capabilities !== null && <Json label="Capabilities" value={model.capabilities} />}
            {Object.keys(model.learned).length > 0 && <Json label="Learned from replies" value={model.learned} />}
          </Card>
        )}
        {model && style !== undefined && <Calculator key={`${group} ${id}`} model={model} style={style} />}
        <Card
          title="Prices"
          lead={texts.model.history}
          actions={
            <Link to={paths.audit} search={{ subject: `model:${group}/${id}` } as never}>
              {t('All changes')}
            </Link>
          }
          isFlush
        >
          <Load query={prices} things={pages.model.things} lines={3}>
            {({ data }) => (
              <Table
                caption="Prices"
                columns={PRICE_COLUMNS}
                rows={data}
                rowKey={({ id: price }) => price}
                empty={pages.model.empty}
              />
            )}
          </Load>
        </Card>
      </div>
    </Page>
  );
};

const EditPrice = ({ model }: { readonly model: ShownModel }) => {
  return (
    <Opener label="Set price" className="primary">
      {(close) => (
        <FormDialog
          title={`${t('Price of')} ${model.id}`}
          explain={texts.model.setPrice}
          close={close}
          action="Save price"
          original={model}
          fields={[
            ...priceFields(model),
            { name: 'valid_from', label: 'Valid from (UTC)', kind: 'time', hint: texts.model.validFrom },
          ]}
          submit={({ valid_from, ...values }) => {
            const rates = pricesIn(values);
            if (Object.keys(rates).length === 0) throw new Error(texts.model.validFromAlone);
            const { id, upstream } = model;
            return admin.applyConfig({
              models: [
                {
                  id,
                  groups: [model.group],
                  ...(upstream !== null && { upstream }),
                  ...rates,
                  ...(valid_from !== undefined && { valid_from }),
                },
              ],
            });
          }}
          refreshes={['models']}
          done={texts.done.priceSaved}
        />
      )}
    </Opener>
  );
};
