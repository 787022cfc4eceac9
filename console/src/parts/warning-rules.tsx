/** Rules of warnings: the list, and the form whose fields follow the kind. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  ACCOUNT_TROUBLES,
  WARNING_KIND_NAMES,
  type WarningKindName,
  type WarningScope,
  warningKind,
} from '../../../src/rules/warnings.ts';
import type { ShownDestination, ShownWarning } from '../../../src/schemas/index.ts';
import { countText } from '../format/count.ts';
import { exactMoney } from '../format/money.ts';
import { t } from '../language.ts';
import { pages, texts } from '../texts.ts';
import { Choice } from './choice.tsx';
import { Dialog, Opener } from './dialog.tsx';
import { type FieldSpec, Form, FormDialog, type FormValues } from './form.tsx';
import { Load } from './page.tsx';
import { State } from './state.tsx';
import { type Column, Table } from './table.tsx';
import { notify } from './toast.tsx';
import { warningTexts } from './warning-texts.ts';
import type { WarningTree } from './warning-tree.ts';

const words = warningTexts;

interface RulesProps {
  readonly tree: WarningTree;
  /** Undefined until they are read. */
  readonly destinations: readonly ShownDestination[] | undefined;
}

export const Rules = ({ tree, destinations }: RulesProps) => {
  const query = useQuery({ queryKey: [tree.name, 'rules'], queryFn: () => tree.api.rules() });
  const columns: readonly Column<ShownWarning>[] = [
    { head: 'Name', cell: nameOf, kind: 'prose', phone: 'title' },
    { head: 'Now', cell: (rule) => <Holds {...rule} />, phone: 'side' },
    { head: 'Warns when', cell: (rule) => <Condition rule={rule} />, kind: 'prose' },
    {
      head: 'Sent to',
      cell: (rule) =>
        rule.destinations === null
          ? t('all')
          : rule.destinations.map((id) => destinations?.find((one) => one.id === id)?.name ?? '–').join(', '),
      phone: 'label',
    },
    {
      head: 'Change',
      cell: (rule) => <RuleActions tree={tree} rule={rule} destinations={destinations ?? []} />,
      kind: 'actions',
    },
  ];
  return (
    <>
      {destinations?.length === 0 && (
        <p className="notice" data-tone="warn">
          {words.noDestination}
        </p>
      )}
      <Load query={query} things={pages.warnings.things}>
        {({ data }) => (
          <Table
            name={tree.name}
            caption={pages.warnings.title}
            columns={columns}
            rows={data}
            rowKey={({ id }) => id}
            empty={pages.warnings.empty}
          />
        )}
      </Load>
    </>
  );
};

const Holds = ({ paused, holds_for }: ShownWarning) =>
  paused ? (
    <State tone="muted">{words.paused}</State>
  ) : (
    <State tone={holds_for === 0 ? 'ok' : 'warn'}>
      {holds_for === 0 ? words.fine : words.holds(countText(holds_for))}
    </State>
  );

/** A rule without a name of its own has that of its kind, in words of the API where it was made there. */
const nameOf = ({ name, kind }: ShownWarning): string => (name === warningKind(kind).about ? words.kinds[kind] : name);

function scopeText({ scope, subject }: ShownWarning) {
  if (scope === 'all') return words.allCalls;
  return subject === null ? words.each(t(scope)) : `${t(scope)} `;
}

const Condition = ({ rule }: { readonly rule: ShownWarning }) => {
  const { kind, subject, subject_name, amount, percent, period, states, min_calls } = rule;
  const { unit, holds } = warningKind(kind);
  const threshold =
    unit === 'dollars'
      ? words[holds](exactMoney(amount ?? '0'))
      : unit === 'percent'
        ? words[holds](`${percent}%`)
        : statesText(states);
  const rest = [
    threshold,
    ...(period === null ? [] : [words.periods[period]]),
    ...(min_calls === null ? [] : [words.fromCalls(countText(min_calls))]),
  ].filter((part) => part !== '');
  return (
    <span>
      {nameOf(rule) !== words.kinds[kind] && words.about(words.kinds[kind])}
      {scopeText(rule)}
      {subject !== null && <span title={subject}>{subject_name ?? subject}</span>}
      {rest.map((part) => words.and(part))}
    </span>
  );
};

const statesText = (states: ShownWarning['states']): string =>
  (states ?? []).map((state) => words.states[state].toLowerCase()).join(texts.or);

export const AddRule = ({ tree, destinations }: RulesProps) => {
  const kinds = WARNING_KIND_NAMES.filter((name) => isOpen(tree, name));
  const [kind, setKind] = useState<WarningKindName>(kinds[0] ?? 'balance');
  const [chosen, setScope] = useState<WarningScope>();
  const { scopes } = warningKind(kind);
  const scope = scopes.find((one) => one === chosen) ?? scopes[0] ?? 'all';
  return (
    <Opener label="Add warning" className="primary">
      {(close) => (
        <Dialog title={t('Add warning')} onClose={close}>
          <div className="fields">
            <Choice
              label="Warn when"
              value={kind}
              options={kinds.map((name) => [name, words.kinds[name]] as const)}
              onChange={(name) => setKind(name as WarningKindName)}
            />
            {scopes.length > 1 && (
              <Choice
                label="Of"
                value={scope}
                options={scopes.map((one) => [one, words.scopes[tree.audience][one] ?? one] as const)}
                onChange={(name) => setScope(name as WarningScope)}
              />
            )}
          </div>
          <Form
            key={kind}
            fields={[
              ...subjectFields(tree, scope),
              ...periodFields(kind),
              ...thresholdFields(kind),
              { name: 'name', label: 'Name', placeholder: words.kinds[kind] },
              ...destinationFields(destinations ?? []),
            ]}
            action="Add warning"
            cancel={close}
            submit={(values) =>
              tree.api.createRule({
                kind,
                scope,
                subject: values[`of:${scope}`],
                name: words.kinds[kind],
                ...bodyOf(values),
              })
            }
            refreshes={[tree.name]}
            done={texts.done.warningSaved}
            finish={close}
          />
        </Dialog>
      )}
    </Opener>
  );
};

const isOpen = (tree: WarningTree, name: WarningKindName): boolean =>
  tree.audience === 'operator' || warningKind(name).audience === 'user';

/** One object of the scope, or each of them. */
function subjectFields(tree: WarningTree, scope: WarningScope): FieldSpec[] {
  const shared = { name: `of:${scope}`, path: 'subject', label: scope };
  const finder = tree.finders[scope];
  if (finder) return [{ ...shared, finder, placeholder: words.each(t(scope)) }];
  if (scope !== 'alarm') return [];
  const alarms = Object.keys(texts.needs.alarms).map((name) => [name, name.replaceAll('_', ' ')] as const);
  return [{ ...shared, kind: 'choice', options: [['', words.each(t(scope))], ...alarms] }];
}

const periodFields = (kind: WarningKindName): FieldSpec[] => {
  const { periods } = warningKind(kind);
  const options = periods.map((period) => [period, words.periodChoices[period]] as const);
  return periods.length === 0 ? [] : [{ name: 'period', label: 'Period', kind: 'choice', options }];
};

/** What can be changed later; `rule` has the values. */
function thresholdFields(kind: WarningKindName, rule?: ShownWarning): FieldSpec[] {
  const { unit, hasMinCalls, holds } = warningKind(kind);
  const fields: FieldSpec[] = [];
  if (unit === 'dollars')
    fields.push({
      name: 'amount',
      label: holds === 'below' ? 'Below (US dollars)' : 'From (US dollars)',
      isRequired: true,
      value: rule?.amount,
    });
  if (unit === 'percent')
    fields.push({
      name: 'percent',
      label: holds === 'below' ? 'Below (percent)' : 'From (percent)',
      kind: 'number',
      isRequired: true,
      value: rule?.percent,
    });
  if (hasMinCalls)
    fields.push({
      name: 'min_calls',
      label: 'Min calls',
      kind: 'number',
      hint: words.minCalls,
      value: rule?.min_calls ?? 20,
    });
  if (kind === 'account')
    for (const [n, state] of ACCOUNT_TROUBLES.entries())
      fields.push({
        name: `states.${state}`,
        label: words.states[state],
        kind: 'check',
        value: rule ? (rule.states ?? []).includes(state) : n < 2,
        ...(state === 'cooling' && { hint: words.states_hint }),
      });
  return fields;
}

const destinationFields = (destinations: readonly ShownDestination[], rule?: ShownWarning): FieldSpec[] =>
  destinations.map(({ id, name }, n) => ({
    name: `destinations.${id}`,
    label: `${t('Send to')} ${name}`,
    kind: 'check',
    value: rule?.destinations?.includes(id) ?? false,
    ...(n === destinations.length - 1 && { hint: words.to }),
  }));

/** Checks become the lists that they stand for. */
function bodyOf(values: FormValues): FormValues {
  const chosen = (prefix: string): string[] =>
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith(prefix) && value === true ? [name.slice(prefix.length)] : [],
    );
  const names = Object.keys(values);
  const has = (prefix: string): boolean => names.some((name) => name.startsWith(prefix));
  const to = chosen('destinations.');
  return {
    ...Object.fromEntries(Object.entries(values).filter(([name]) => !/[:.]/.test(name))),
    ...(has('states.') && { states: chosen('states.') }),
    ...(has('destinations.') && { destinations: to.length === 0 ? null : to }),
  };
}

interface RuleActionsProps {
  readonly tree: WarningTree;
  readonly rule: ShownWarning;
  readonly destinations: readonly ShownDestination[];
}

const RuleActions = ({ tree, rule, destinations }: RuleActionsProps) => {
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: [tree.name] });
  return (
    <span className="row">
      <Opener label="Edit">
        {(close) => (
          <FormDialog
            title={`${t('Change')} ${nameOf(rule)}`}
            close={close}
            action="Save warning"
            original={rule}
            fields={[
              { name: 'name', label: 'Name', value: nameOf(rule), isRequired: true },
              ...thresholdFields(rule.kind, rule),
              ...destinationFields(destinations, rule),
            ]}
            submit={(values) => tree.api.changeRule(rule.id, bodyOf(values))}
            refreshes={[tree.name]}
            done={texts.done.warningSaved}
          />
        )}
      </Opener>
      <button
        type="button"
        onClick={() => void tree.api.changeRule(rule.id, { paused: !rule.paused }).then(refresh, report)}
      >
        {rule.paused ? t('Resume') : t('Pause')}
      </button>
      <Opener label="Delete" className="danger">
        {(close) => (
          <FormDialog
            title={`${t('Delete')} ${nameOf(rule)}`}
            explain={words.remove}
            close={close}
            action="Delete warning"
            isDanger
            fields={[]}
            submit={() => tree.api.deleteRule(rule.id)}
            refreshes={[tree.name]}
          />
        )}
      </Opener>
    </span>
  );
};

const report = (error: unknown): void => notify(error instanceof Error ? error.message : String(error));
