/** Models with the prices and costs in force. */
import { useState } from 'react';
import type { AppliedConfig, ShownModel } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { ChangeList } from '../parts/changes.tsx';
import { Json } from '../parts/code.tsx';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { type FieldSpec, Form, FormDialog, type FormValues } from '../parts/form.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import { moreRates, rateOf, ratesText, TOKEN_RATES } from '../parts/rates.ts';
import { State } from '../parts/state.tsx';
import type { Column } from '../parts/table.tsx';
import { Money } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { useGroupIds } from './catalog.ts';
import { PriceImport } from './price-import.tsx';

function rateColumn(
  head: string,
  of: 'prices' | 'cost',
  rate: (typeof TOKEN_RATES)[number],
  phone: 'label' | 'hide' = 'label',
): Column<ShownModel> {
  const amount = (model: ShownModel) => rateOf(model[of], rate);
  return { head, cell: (model) => <Money amount={amount(model)} />, amount, kind: 'number', phone };
}

const COLUMNS: readonly Column<ShownModel>[] = [
  { head: 'Model', cell: ({ id }) => <code>{id}</code>, phone: 'title' },
  { head: 'Group', cell: ({ group }) => group, phone: 'side' },
  { head: 'Upstream', cell: ({ upstream }) => upstream ?? '', phone: 'hide', isExtra: true },
  rateColumn('Input', 'prices', 'input'),
  rateColumn('Cached', 'prices', 'cached_input', 'hide'),
  rateColumn('Output', 'prices', 'output'),
  { head: 'Further rates', cell: (model) => <Price model={model} />, kind: 'prose' },
  rateColumn('Cost of input', 'cost', 'input', 'hide'),
  rateColumn('Cost of output', 'cost', 'output', 'hide'),
];

/** What the columns do not say. */
const Price = ({ model }: { readonly model: ShownModel }) => {
  if (model.free) return <State tone="ok">{texts.model.free}</State>;
  if (model.prices === null) return <State tone="bad">{texts.model.unpriced}</State>;
  const rest = Object.entries(model.prices).filter(([name]) => !SHOWN_RATES.has(name));
  return <span>{ratesText(Object.fromEntries(rest))}</span>;
};

const SHOWN_RATES: ReadonlySet<string> = new Set(['input', 'cached_input', 'output']);

export const Models = () => {
  const groups = useGroupIds();
  const textGroups = useGroupIds('text');
  return (
    <Page
      title={pages.models.title}
      lead={pages.models.lead}
      actions={
        <>
          <PriceImport groups={textGroups} />
          <ImportConfig />
          <AddModel />
        </>
      }
    >
      <FilteredList
        page={pages.models}
        name="models"
        load={admin.models}
        filters={[
          { name: 'part', label: 'Model' },
          { name: 'group', label: 'Group', options: groups },
        ]}
        columns={COLUMNS}
        rowKey={({ group, id }) => `${group} ${id}`}
        open={({ group, id }) => paths.model(group, id)}
      />
    </Page>
  );
};

const AddModel = () => {
  const groups = useGroupIds();
  return (
    <Opener label="Add model" className="primary">
      {(close) => (
        <FormDialog
          title="Add model"
          close={close}
          action="Add model"
          fields={[
            {
              name: 'id',
              label: 'Model',
              isRequired: true,
              placeholder: 'gpt-5',
              hint: texts.model.name,
            },
            { name: 'group', label: 'Group', kind: 'choice', options: groups, isRequired: true },
            { name: 'upstream', label: 'Upstream name', hint: texts.model.upstream },
            ...priceFields(),
          ]}
          submit={({ id, group, upstream, ...rates }) =>
            admin.create({
              models: [{ id, groups: [group], ...(upstream !== undefined && { upstream }), ...pricesIn(rates) }],
            })
          }
          refreshes={['models']}
          done={texts.done.modelAdded}
        />
      )}
    </Opener>
  );
};

/** What users pay, and what the provider charges: a row of the usual rates, and the others as JSON. */
export const priceFields = (model?: ShownModel): (FieldSpec | readonly FieldSpec[])[] =>
  (['prices', 'cost'] as const).flatMap((prefix) => {
    const rates = model?.[prefix] ?? null;
    const label = prefix === 'prices' ? t('Price') : t('Cost');
    return [
      TOKEN_RATES.map((name) => ({
        name: `${prefix}.${name}`,
        label: texts.model.rateLabel(label, t(name.replaceAll('_', ' '))),
        value: rateOf(rates, name),
        placeholder: '$ /1M',
      })),
      {
        name: `${prefix}.${MORE}`,
        label: `${label}: ${t('further rates as JSON')}`,
        kind: 'area' as const,
        value: moreRates(rates),
        isFolded: true,
        hint: texts.model.moreRates,
        placeholder: texts.model.moreRatesExample,
      },
    ];
  });

const MORE = 'more';

export function pricesIn(values: FormValues): Record<string, unknown> {
  const part = (prefix: 'prices' | 'cost') => {
    const given = Object.entries(values)
      .filter(([name]) => name.startsWith(`${prefix}.`))
      .map(([name, value]) => [name.slice(prefix.length + 1), value]);
    const { [MORE]: more, ...usual } = Object.fromEntries(given) as Record<string, unknown>;
    const rates = { ...(more !== undefined && parseDocument(String(more))), ...usual };
    return Object.keys(rates).length === 0 ? {} : { [prefix]: rates };
  };
  return { ...part('prices'), ...part('cost') };
}

/** A document of the configuration, with what it would change before it changes anything. */
const ImportConfig = () => {
  const [preview, setPreview] = useState<{
    readonly document: Record<string, unknown>;
    readonly result: AppliedConfig;
  }>();
  return (
    <Opener label="Import">
      {(close) => (
        <Dialog
          title={t('Import')}
          lead={texts.model.previewFirst}
          onClose={() => {
            setPreview(undefined);
            close();
          }}
        >
          {preview === undefined ? (
            <Form
              fields={[
                {
                  name: 'document',
                  label: 'Configuration as JSON',
                  kind: 'area',
                  isRequired: true,
                  placeholder:
                    '{"models":[{"id":"gpt-5","groups":["openai"],"prices":{"input":"1.25","output":"10"}}]}',
                },
              ]}
              action={texts.model.preview}
              cancel={close}
              submit={async ({ document }) => {
                const parsed = parseDocument(String(document));
                setPreview({
                  document: parsed,
                  result: await admin.applyConfig(parsed, { dry_run: 'true', accept_repricing: 'true' }),
                });
              }}
            />
          ) : (
            <Form
              fields={[]}
              isIdle={preview.result.changes.length === 0}
              action={texts.model.apply}
              cancel={() => setPreview(undefined)}
              submit={() => admin.applyConfig(preview.document, { accept_repricing: 'true' })}
              refreshes="all"
              done={texts.done.configApplied}
              finish={() => {
                setPreview(undefined);
                close();
              }}
            >
              {preview.result.changes.length === 0 ? (
                <p>{texts.model.nothing}</p>
              ) : (
                <PlannedChanges planned={preview.result} />
              )}
            </Form>
          )}
        </Dialog>
      )}
    </Opener>
  );
};

const PlannedChanges = ({ planned: { changes, diff, effects } }: { readonly planned: AppliedConfig }) => (
  <div className="stack">
    {changes.map(({ what, object }) => {
      const fields = diff.find((one) => one.object === object)?.fields ?? [];
      return (
        <section key={object}>
          <h3>
            {object} <span className="muted">{what}</span>
          </h3>
          <ChangeList
            isWhole={what === 'created'}
            changes={fields.map(({ field, before, after }) => ({
              label: field,
              before: before ?? undefined,
              after: after ?? undefined,
            }))}
          />
        </section>
      );
    })}
    {effects.length > 0 && <Json label={texts.model.effects(effects.length)} value={effects} />}
  </div>
);

export function parseDocument(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(texts.form.notJson(error instanceof Error ? error.message : String(error)));
  }
}
