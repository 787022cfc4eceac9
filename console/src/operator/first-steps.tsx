/** From an empty gateway to the first call: account, test, key, command. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { KeyWithValue, ShownModel } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { Problem } from '../api/client.ts';
import { durationText } from '../format/time.ts';
import { ClientSnippets } from '../parts/client-snippets.tsx';
import { Snippet } from '../parts/code.tsx';
import { Form } from '../parts/form.tsx';
import { Load, Page } from '../parts/page.tsx';
import { State } from '../parts/state.tsx';
import { Money } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { NewAccountForm } from './account-form.tsx';
import { isSimulated } from './account-state.tsx';
import { useAccounts, useGroupIds, useGroups, useModels } from './catalog.ts';
import { useGroupFacts } from './keys.tsx';
import { testAccount } from './test-account.ts';
import { operatorTexts } from './texts.ts';

export const FirstSteps = () => {
  const accounts = useAccounts();
  const groups = useGroups();
  const models = useModels();
  const [account, setAccount] = useState<string>();
  const [hasTested, setTested] = useState(false);
  const [made, setMade] = useState<KeyWithValue>();
  return (
    <Page title={pages.setup.title} lead={operatorTexts.setup.lead}>
      <Load query={groups} things={pages.setup.things}>
        {({ data }) => (
          <ol className="steps">
            <Step number={1} title={operatorTexts.setup.account} isDone={account !== undefined} isWaiting={false}>
              <p className="muted">{operatorTexts.setup.accountDone(realAccounts(accounts.data?.data ?? []))}</p>
              {account === undefined ? (
                <NewAccountForm groups={data.filter(({ style }) => style !== 'video')} done={setAccount} />
              ) : (
                <p>{account}</p>
              )}
            </Step>
            <Step number={2} title={operatorTexts.setup.test} isDone={hasTested} isWaiting={account === undefined}>
              {account !== undefined && (
                <TestStep
                  account={account}
                  group={accounts.data?.data.find(({ id }) => id === account)?.group}
                  models={models.data?.data ?? []}
                  done={() => setTested(true)}
                />
              )}
            </Step>
            <Step
              number={3}
              title={operatorTexts.setup.key}
              isDone={made !== undefined}
              isWaiting={account === undefined}
            >
              {account !== undefined && !made && (
                <KeyStep group={accounts.data?.data.find(({ id }) => id === account)?.group} done={setMade} />
              )}
              {made && (
                <>
                  <p className="muted">{texts.key.shownOnce}</p>
                  <Snippet text={made.value} />
                </>
              )}
            </Step>
            <Step number={4} title={operatorTexts.setup.call} isDone={false} isWaiting={made === undefined}>
              {made && <CallStep made={made} />}
            </Step>
          </ol>
        )}
      </Load>
    </Page>
  );
};

const realAccounts = (accounts: readonly Parameters<typeof isSimulated>[0][]): string =>
  texts.counts.accounts(accounts.filter((account) => !isSimulated(account)).length);

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly isWaiting: boolean;
  readonly children: ReactNode;
}

const Step = ({ number, title, isDone, isWaiting, children }: StepProps) => (
  <li className="step" data-done={isDone} data-waiting={isWaiting}>
    <span className="mark" aria-hidden="true">
      {isDone ? '✓' : number}
    </span>
    <div className="inside">
      <h2>{title}</h2>
      {!isWaiting && children}
    </div>
  </li>
);

interface TestStepProps {
  readonly account: string;
  readonly group: string | undefined;
  readonly models: readonly ShownModel[];
  readonly done: () => void;
}

/** In a group without a priced model every call would be refused, so the model of the test is added with its price. */
const TestStep = ({ account, group, models, done }: TestStepProps) => {
  const client = useQueryClient();
  const [result, setResult] = useState<string>();
  const [isAdding] = useState(() => !models.some((one) => one.group === group && (one.price !== null || one.free)));
  return (
    <>
      <p className="muted">{operatorTexts.account.test}</p>
      {result !== undefined && <State tone="ok">{result}</State>}
      <Form
        fields={
          isAdding
            ? [
                {
                  name: 'model',
                  label: 'Model',
                  isRequired: true,
                  placeholder: 'gpt-5',
                  hint: operatorTexts.setup.firstModel,
                },
                [
                  { name: 'input', label: 'Price of input', isRequired: true, placeholder: '1.25' },
                  { name: 'output', label: 'Price of output', isRequired: true, placeholder: '10' },
                ],
              ]
            : [{ name: 'model', label: 'Model', hint: operatorTexts.account.testModel }]
        }
        action="Run test"
        submit={async ({ model, input, output }) => {
          if (isAdding) {
            await admin.applyConfig({ models: [{ id: model, groups: [group], prices: { input, output } }] });
            await client.invalidateQueries({ queryKey: ['models'] });
          }
          setResult(await testAccount(account, model === undefined ? {} : { model }));
          done();
        }}
      />
    </>
  );
};

interface KeyStepProps {
  readonly group: string | undefined;
  readonly done: (made: KeyWithValue) => void;
}

const KeyStep = ({ group, done }: KeyStepProps) => {
  const client = useQueryClient();
  const groups = useGroupIds('text');
  return (
    <Form
      fields={[
        { name: 'user', label: 'User', isRequired: true, value: 'me', hint: operatorTexts.setup.keyUser },
        { name: 'group', label: 'Group', kind: 'choice', options: groups, value: group, isRequired: true },
        { name: 'name', label: 'Name', isRequired: true, value: 'first' },
      ]}
      action="Make key"
      submit={async (values) => {
        await ensureUser(String(values.user));
        done(await admin.createKey(values));
        await client.invalidateQueries({ queryKey: ['keys'] });
      }}
    />
  );
};

/** A new user without a credit cannot call; ten dollars are enough for the first calls. */
async function ensureUser(user: string): Promise<void> {
  try {
    await admin.createUser({ id: user });
  } catch (error) {
    if (error instanceof Problem && error.status === 409) return;
    throw error;
  }
  await admin.credit({ user, amount: '10', reason: 'first steps', reference: `first-steps-${user}` });
}

const CallStep = ({ made }: { readonly made: KeyWithValue }) => {
  const { style, model } = useGroupFacts(made.group);
  const calls = useQuery({
    queryKey: ['requests', 'first', made.id],
    queryFn: () => admin.requests({ key: made.id, limit: 1 }),
    refetchInterval: 2_000,
  });
  const [call] = calls.data?.data ?? [];
  return (
    <>
      <ClientSnippets style={style} model={model} value={made.value} />
      <p role="status">
        {call === undefined ? (
          <span className="muted">{operatorTexts.setup.waiting}</span>
        ) : (
          <Link to={paths.request(call.id)}>
            <State tone={call.status < 400 ? 'ok' : 'bad'}>
              {operatorTexts.setup.answered} {durationText(call.total_ms)},{' '}
              {call.charge === null ? call.status : <Money amount={call.charge} />}
            </State>
          </Link>
        )}
      </p>
    </>
  );
};
