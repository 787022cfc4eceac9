/** Adding and changing accounts. Both apply a document of the configuration that names only this account. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { admin } from '../api/admin.ts';
import type { Account, Group, Style } from '../api/types.ts';
import { type FieldSpec, Form, FormDialog, type FormValues } from '../parts/form.tsx';
import { notify } from '../parts/toast.tsx';
import { texts } from '../texts.ts';

const BASE_URLS: Readonly<Record<Style, string>> = {
  responses: 'https://api.openai.com/v1',
  messages: 'https://api.anthropic.com',
  'generate-content': 'https://generativelanguage.googleapis.com',
  video: 'https://ark.cn-beijing.volces.com/api/v3',
};

const STYLE_LABELS: readonly (readonly [Style, string])[] = [
  ['responses', 'Responses: OpenAI and compatible servers'],
  ['messages', 'Messages: Anthropic'],
  ['generate-content', 'Generate content: Google Gemini'],
];

const NEW_GROUP = '+new';

interface NewAccountProps {
  readonly groups: readonly Group[];
  readonly done: (account: string) => void;
  readonly cancel?: () => void;
}

/** The choice of a group or style fills in the address, so the form is rendered again with it. */
export const NewAccountForm = ({ groups, done, cancel }: NewAccountProps) => {
  const client = useQueryClient();
  const [group, setGroup] = useState(groups[0]?.id ?? NEW_GROUP);
  const [style, setStyle] = useState<Style>('responses');
  const known = groups.find(({ id }) => id === group);
  const shownStyle = known?.style ?? style;
  const submit = async (values: FormValues): Promise<void> => {
    const { group_id, ...account } = values;
    const target = known?.id ?? String(group_id);
    await admin.applyConfig({
      ...(known ? {} : { groups: [{ id: target, style: shownStyle }] }),
      accounts: [{ ...account, group: target }],
    });
    await client.invalidateQueries();
    notify('The account is added.');
    done(String(account.id));
  };
  return (
    <div className="fields">
      <div className="field-row">
        <label className="field">
          <span className="label">Group</span>
          <select value={group} onChange={(event) => setGroup(event.target.value)}>
            {groups.map(({ id, style: own }) => (
              <option key={id} value={id}>
                {id} ({own})
              </option>
            ))}
            <option value={NEW_GROUP}>New group</option>
          </select>
        </label>
        {!known && (
          <label className="field">
            <span className="label">Style</span>
            <select value={style} onChange={(event) => setStyle(event.target.value as Style)}>
              {STYLE_LABELS.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Form
        key={`${group} ${shownStyle}`}
        fields={[
          ...(known ? [] : [{ name: 'group_id', label: 'Id of the group', isRequired: true, placeholder: 'openai' }]),
          { name: 'id', label: 'Id of the account', isRequired: true, placeholder: 'openai-1' },
          { name: 'base_url', label: 'Base URL', isRequired: true, value: BASE_URLS[shownStyle] },
          {
            name: 'api_key',
            label: 'Credential',
            kind: 'password',
            isRequired: true,
            hint: texts.account.add,
            autoComplete: 'off',
          },
          TUNING[0] as readonly FieldSpec[],
        ]}
        action="Add account"
        submit={submit}
        {...(cancel && { cancel })}
      />
    </div>
  );
};

const TUNING: readonly (readonly FieldSpec[])[] = [
  [
    { name: 'weight', label: 'Weight', kind: 'number', placeholder: '1' },
    { name: 'priority', label: 'Priority', kind: 'number', placeholder: '0' },
    { name: 'max_concurrency', label: 'Max concurrency', kind: 'number' },
  ],
];

interface EditAccountProps {
  readonly account: Account;
  readonly close: () => void;
}

export const EditAccount = ({ account, close }: EditAccountProps) => {
  const client = useQueryClient();
  return (
    <FormDialog
      title={`Change ${account.id}`}
      explain={texts.account.edit}
      close={close}
      action="Save account"
      fields={[
        { name: 'base_url', label: 'Base URL', isRequired: true, value: account.base_url },
        { name: 'api_key', label: 'Credential', kind: 'password', isRequired: true },
        [
          { name: 'weight', label: 'Weight', kind: 'number', value: account.weight },
          { name: 'priority', label: 'Priority', kind: 'number', value: account.priority },
          { name: 'max_concurrency', label: 'Max concurrency', kind: 'number', value: account.max_concurrency },
        ],
        { name: 'cost_multiplier', label: 'Cost multiplier', value: account.cost_multiplier },
        { name: 'features', label: 'Features', kind: 'list', value: account.features, hint: 'Separated by commas.' },
      ]}
      submit={async (values) => {
        await admin.applyConfig({ accounts: [{ ...values, id: account.id, group: account.group }] });
        await client.invalidateQueries({ queryKey: ['accounts'] });
        notify('The account is saved.');
      }}
    />
  );
};
