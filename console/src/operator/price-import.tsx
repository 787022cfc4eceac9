/** Prices from the public list: what would change, rate by rate, and then the change itself. */
import { useState } from 'react';
import type { PriceImport as Plan, ShownRateChange } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { Form, type FormValues } from '../parts/form.tsx';
import { State } from '../parts/state.tsx';
import { Time } from '../parts/values.tsx';
import { texts } from '../texts.ts';

interface Shown {
  readonly request: FormValues;
  readonly plan: Plan;
}

export const PriceImport = ({ groups }: { readonly groups: readonly string[] }) => {
  const [shown, setShown] = useState<Shown>();
  return (
    <Opener label="Import prices">
      {(close) => {
        const end = (): void => {
          setShown(undefined);
          close();
        };
        return (
          <Dialog title={t('Import prices')} lead={texts.model.importLead} onClose={end}>
            {shown === undefined ? (
              <Form
                fields={[
                  [
                    { name: 'group', label: 'Group', kind: 'choice', options: [['', t('All groups')], ...groups] },
                    { name: 'multiplier', label: 'Multiplier', value: '1', hint: texts.model.importMultiplier },
                  ],
                  { name: 'provider', label: 'Provider', placeholder: 'openai', hint: texts.model.importProvider },
                ]}
                action={texts.model.preview}
                cancel={end}
                submit={async (request) =>
                  setShown({ request, plan: await admin.importPrices(request, { dry_run: 'true' }) })
                }
              />
            ) : (
              <Form
                isIdle={shown.plan.changes.length === 0}
                fields={
                  hasSuspicious(shown.plan)
                    ? [{ name: 'force', label: texts.model.importForce, kind: 'check', value: false }]
                    : []
                }
                action={texts.model.apply}
                cancel={() => setShown(undefined)}
                submit={({ force = false }) => admin.importPrices({ ...shown.request, plan: shown.plan.plan, force })}
                refreshes={['models']}
                done={texts.done.pricesImported}
                finish={end}
              >
                <PlanView plan={shown.plan} />
              </Form>
            )}
          </Dialog>
        );
      }}
    </Opener>
  );
};

const hasSuspicious = ({ changes }: Plan): boolean =>
  changes.some(({ rates }) => rates.some(({ suspicious }) => suspicious));

const PlanView = ({ plan: { changes, unchanged, remarks, skipped } }: { readonly plan: Plan }) => (
  <div className="stack">
    <p>{texts.model.importCounts(texts.counts.models(changes.length), String(unchanged), String(skipped.length))}</p>
    {changes.map(({ group, model, source, valid_from, rates }) => (
      <section key={`${group} ${model} ${valid_from}`}>
        <h3>
          <code>{model}</code> <span className="muted">{texts.model.importFrom(group, source)}</span>{' '}
          {valid_from !== null && <Time at={valid_from} />}
        </h3>
        {rates.length === 0 ? <p className="muted">{texts.model.onlyCost}</p> : <Rates rates={rates} />}
      </section>
    ))}
    <Notes label="Notes" lines={remarks} />
    <Notes label="Skipped" lines={skipped} />
  </div>
);

const Rates = ({ rates }: { readonly rates: readonly ShownRateChange[] }) => (
  <div className="diff">
    {rates.map(({ rate, before, after, suspicious }) => (
      <div key={rate}>
        {before !== null && (
          <div className="removed">
            − {rate}: ${before}
          </div>
        )}
        {after !== null && (
          <div className="added">
            + {rate}: ${after}
          </div>
        )}
        {suspicious && <State tone="warn">{texts.model.suspicious}</State>}
      </div>
    ))}
  </div>
);

const Notes = ({ label, lines }: { readonly label: string; readonly lines: readonly string[] }) =>
  lines.length === 0 ? null : (
    <details>
      <summary>
        {label} ({lines.length})
      </summary>
      <ul>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
