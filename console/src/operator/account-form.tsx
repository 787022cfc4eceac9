/**
 * Adding and changing accounts. A new account is a document of the configuration that names only it; a change sends
 * what differs.
 */
import { type ReactNode, useRef, useState } from 'react';
import type { AccountKind } from '../../../src/rules/account-kinds.ts';
import { chatServerChoices } from '../../../src/rules/chat-presets.ts';
import type { GroupStyle, ShownAccount, ShownGroup } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Choice } from '../parts/choice.tsx';
import { Json } from '../parts/code.tsx';
import { type FieldSpec, Form, FormDialog, type FormValues } from '../parts/form.tsx';
import { texts } from '../texts.ts';
import { changesOf, mapText } from './account-changes.ts';
import {
  apiFeatures,
  authChoices,
  type CloudChoice,
  cloudChoices,
  newCloudFields,
  storedCloudFields,
  withCloud,
} from './cloud-fields.ts';
import { operatorTexts } from './texts.ts';

const BASE_URLS: Readonly<Record<GroupStyle, string>> = {
  responses: 'https://api.openai.com/v1',
  messages: 'https://api.anthropic.com',
  'generate-content': 'https://generativelanguage.googleapis.com',
  video: 'https://ark.cn-beijing.volces.com/api/v3',
};

const STYLE_LABELS: readonly (readonly [GroupStyle, string])[] = [
  ['responses', t('Responses: OpenAI and compatible servers')],
  ['messages', t('Messages: Anthropic')],
  ['generate-content', t('Generate content: Google Gemini')],
];

const NEW_GROUP = '+new';
const SERVERS = chatServerChoices();
const OPENAI = 'openai';

interface NewAccountProps {
  readonly groups: readonly ShownGroup[];
  readonly done: (account: string) => void;
  readonly cancel?: () => void;
}

/** The choice of a group, style or server fills in the fields below, so the form is rendered again with it. */
export const NewAccountForm = ({ groups, done, cancel }: NewAccountProps) => {
  const [group, setGroup] = useState(groups[0]?.id ?? NEW_GROUP);
  const [style, setStyle] = useState<GroupStyle>('responses');
  const [preset, setPreset] = useState<string>(OPENAI);
  const [chosenCloud, setCloud] = useState<CloudChoice>('none');
  const [chosenAuth, setAuth] = useState('');
  const known = groups.find(({ id }) => id === group);
  const shownStyle = known?.style ?? style;
  const clouds = cloudChoices(shownStyle);
  const cloud = clouds.some(([kind]) => kind === chosenCloud) ? chosenCloud : 'none';
  const auths = cloud === 'none' ? [] : authChoices(cloud);
  const auth = auths.find(([name]) => name === chosenAuth)?.[0] ?? auths[0]?.[0] ?? '';
  const server =
    shownStyle === 'responses' && cloud === 'none' ? SERVERS.find((one) => one.preset === preset) : undefined;
  const isOther = server !== undefined && server.preset !== OPENAI;
  const example = cloud === 'none' ? (shownStyle === 'responses' ? preset : shownStyle) : cloud;
  const added = useRef('');
  const submit = async (values: FormValues): Promise<void> => {
    const { group_id, ...account } = cloud === 'none' ? values : withCloud(values, cloud, auth);
    const target = known?.id ?? String(group_id);
    await admin.create({
      ...(known ? {} : { groups: [{ id: target, style: shownStyle }] }),
      accounts: [{ ...account, ...(isOther && { preset: server.preset }), group: target }],
    });
    added.current = String(account.id);
  };
  return (
    <div className="fields">
      <div className="field-row">
        <Choice
          label="Group"
          value={group}
          options={[
            ...groups.map(({ id, style: own }) => [id, id === own ? id : `${id} (${own})`] as const),
            [NEW_GROUP, t('New group')],
          ]}
          onChange={setGroup}
        />
        {!known && (
          <Choice
            label="Style"
            value={style}
            options={STYLE_LABELS}
            onChange={(next) => setStyle(next as GroupStyle)}
          />
        )}
        {clouds.length > 0 && (
          <Choice label="Cloud" value={cloud} options={clouds} onChange={(next) => setCloud(next as CloudChoice)} />
        )}
        {server && (
          <Choice
            label="Server"
            value={preset}
            options={SERVERS.map((one) => [one.preset, one.label] as const)}
            onChange={setPreset}
          />
        )}
      </div>
      {cloud !== 'none' && <Choice label="Sign-in" value={auth} options={auths} onChange={setAuth} />}
      {isOther && <Json label={operatorTexts.account.presetFlags} value={server.flags} />}
      <Form
        fields={[
          ...(known
            ? []
            : [
                {
                  name: 'group_id',
                  label: 'Id of the group',
                  isRequired: true,
                  placeholder: 'openai',
                  path: 'groups[0].id',
                },
              ]),
          {
            name: 'id',
            label: 'Id of the account',
            isRequired: true,
            placeholder: `${example}-1`,
            path: 'accounts[0].id',
          },
          ...(cloud === 'none'
            ? providerFields(server ? server.baseUrl : BASE_URLS[shownStyle], isOther)
            : newCloudFields(cloud, auth)),
          ...(isOther ? [featuresField(server.features)] : cloud === 'none' ? [] : apiFields(cloud, shownStyle)),
          tuningFields(),
        ]}
        action="Add account"
        submit={submit}
        refreshes="all"
        done={texts.done.accountAdded}
        finish={() => done(added.current)}
        {...(cancel && { cancel })}
      />
    </div>
  );
};

const providerFields = (baseUrl: string | undefined, isOther: boolean): readonly FieldSpec[] => [
  { name: 'base_url', label: 'Base URL', isRequired: true, value: baseUrl },
  {
    name: 'api_key',
    label: 'Credential',
    kind: 'password',
    isRequired: true,
    hint: isOther ? `${operatorTexts.account.add} ${operatorTexts.account.noCredential}` : operatorTexts.account.add,
    autoComplete: 'off',
  },
];

const tuningFields = (account?: ShownAccount): readonly FieldSpec[] => [
  { name: 'weight', label: 'Weight', kind: 'number', placeholder: '1', value: account?.weight },
  { name: 'priority', label: 'Priority', kind: 'number', placeholder: '0', value: account?.priority },
  {
    name: 'max_concurrency',
    label: 'Max concurrency',
    kind: 'number',
    value: account?.max_concurrency ?? undefined,
    hint: operatorTexts.account.concurrency,
  },
  { name: 'rpm', label: 'Requests a minute', kind: 'number', value: account?.rpm ?? undefined },
  { name: 'tpm', label: 'Tokens a minute', kind: 'number', value: account?.tpm ?? undefined },
  { name: 'cost_day', label: 'Cost in dollars a day', value: account?.cost_day ?? undefined, placeholder: '50' },
  {
    name: 'cost_month',
    label: 'Cost in dollars a month',
    value: account?.cost_month ?? undefined,
    placeholder: '1000',
  },
  {
    name: 'polls_per_second',
    label: 'Polls of video tasks a second',
    kind: 'number',
    value: account?.polls_per_second ?? undefined,
    placeholder: '20',
  },
];

const featuresField = (value: readonly string[] | undefined, hint: string = texts.form.list): FieldSpec => ({
  name: 'features',
  label: 'Features',
  kind: 'list',
  value,
  hint,
});

/** A cloud with several APIs for a style asks which one the account uses. */
const apiFields = (kind: AccountKind, style: GroupStyle): readonly FieldSpec[] => {
  const features = apiFeatures(kind, style);
  return features ? [featuresField(features, operatorTexts.account.converse)] : [];
};

interface EditAccountProps {
  readonly account: ShownAccount;
  readonly style: GroupStyle | undefined;
  readonly close: () => void;
}

export const EditAccount = ({ account, style, close }: EditAccountProps) => {
  return (
    <FormDialog
      title={`${t('Change')} ${account.id}`}
      explain={operatorTexts.account.edit}
      close={close}
      action="Save account"
      original={account}
      sendsAll
      fields={accountFields(account, style)}
      submit={async (values, read = account) => {
        const { cloud } = account;
        const changes = changesOf(read, cloud ? withCloud(values, cloud.kind, cloud.auth) : values);
        if (Object.keys(changes).length > 0) await admin.changeAccount(account.id, changes);
      }}
      refreshes={['accounts']}
      done={texts.done.accountSaved}
    />
  );
};

/** What an operator changes; the page of the account lists the same. */
const accountFields = (
  account: ShownAccount,
  style: GroupStyle | undefined,
): readonly (FieldSpec | readonly FieldSpec[])[] => [
  {
    name: 'groups',
    label: 'Groups',
    kind: 'list',
    isRequired: true,
    value: account.groups,
    hint: operatorTexts.account.groups,
  },
  { name: 'base_url', label: 'Base URL', isRequired: true, value: account.base_url },
  ...(account.cloud
    ? storedCloudFields(account.cloud)
    : [
        { name: 'api_key', label: 'Credential', kind: 'password' as const, hint: operatorTexts.account.keepCredential },
      ]),
  tuningFields(account),
  [
    { name: 'cost_multiplier', label: 'Cost multiplier', value: account.cost_multiplier },
    { name: 'proxy', label: 'Proxy', placeholder: account.proxy ?? 'environment', hint: operatorTexts.account.proxy },
  ],
  ...(style === 'responses' ? [serverField(account)] : []),
  featuresField(account.features),
  {
    name: 'models',
    label: 'Model names',
    kind: 'area',
    value: mapText(account.models),
    placeholder: 'gpt-5 = my-deployment',
    hint: operatorTexts.account.models,
  },
  {
    name: 'capabilities',
    label: 'Capabilities',
    kind: 'area',
    value: Object.keys(account.capabilities).length === 0 ? '' : JSON.stringify(account.capabilities, null, 1),
    placeholder: '{"urlMedia": false}',
    hint: operatorTexts.account.capabilities,
  },
];

/** The fields of the form that have a value, with their labels. */
export const accountFacts = (account: ShownAccount, style: GroupStyle | undefined): (readonly [string, ReactNode])[] =>
  (accountFields(account, style).flat() as readonly FieldSpec[]).map(({ name, label, value }) => [
    label,
    factOf(name.startsWith('cloud.') ? value : (account as Readonly<Record<string, unknown>>)[name]),
  ]);

function factOf(value: unknown): ReactNode {
  if (typeof value !== 'object') return value as ReactNode;
  const isEmpty = value === null || Object.keys(value).length === 0;
  if (isEmpty) return undefined;
  return Array.isArray(value) ? value.join(', ') : <code>{JSON.stringify(value)}</code>;
}

const serverField = ({ preset }: ShownAccount): FieldSpec => ({
  name: 'preset',
  label: 'Server',
  kind: 'choice',
  options: [['auto', operatorTexts.account.autoPreset], ...SERVERS.map((one) => [one.preset, one.label] as const)],
  value: preset ?? 'auto',
});
