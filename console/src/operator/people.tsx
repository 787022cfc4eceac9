/** People who sign in: invite, change, new link, sign out. */
import { type ReactNode, useState } from 'react';
import type { InvitedPerson, ShownPerson } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { choices, t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { finders } from '../parts/finders.ts';
import { FormDialog, type FormFields, type FormValues } from '../parts/form.tsx';
import { LIMIT_FIELDS } from '../parts/key-parts.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Once } from '../parts/once.tsx';
import { Page } from '../parts/page.tsx';
import { State, type Tone } from '../parts/state.tsx';
import { Time } from '../parts/values.tsx';
import { pages, texts } from '../texts.ts';
import { operatorTexts } from './texts.ts';
import { DEFAULT_KEYS } from './users.tsx';

const TONES: Readonly<Record<ShownPerson['state'], Tone>> = { invited: 'warn', active: 'ok', disabled: 'muted' };

export const People = () => {
  const [link, setLink] = useState<InvitedPerson>();
  return (
    <Page title={pages.people.title} lead={pages.people.lead} actions={<Invite done={setLink} />}>
      <FilteredList
        page={pages.people}
        name="people"
        load={admin.people}
        filters={[{ name: 'role', label: 'Role', options: choices(['operator', 'user']) }]}
        columns={[
          { head: 'Name', cell: ({ name }) => name, phone: 'title' },
          { head: 'State', cell: ({ state }) => <State tone={TONES[state]}>{state}</State>, phone: 'side' },
          { head: 'E-mail', cell: ({ email }) => email },
          { head: 'Role', cell: ({ role }) => t(role) },
          { head: 'User', cell: ({ user }) => user ?? '–', phone: 'hide' },
          { head: 'Signed in', cell: ({ signed_in_at }) => <Time at={signed_in_at} />, phone: 'hide' },
          {
            head: 'Change',
            cell: (person) => <PersonActions person={person} showLink={setLink} />,
            kind: 'actions',
          },
        ]}
        rowKey={({ id }) => id}
      />
      {link && (
        <Once
          title={`${t('Link for')} ${link.email}`}
          warning={operatorTexts.people.linkOnce}
          value={link.link}
          close={() => setLink(undefined)}
        >
          <p className="muted">
            {t('Valid until')} <Time at={link.link_expires_at} />
          </p>
        </Once>
      )}
    </Page>
  );
};

const Invite = ({ done }: { readonly done: (link: InvitedPerson) => void }) => {
  return (
    <Opener label="Invite person" className="primary">
      {(close) => (
        <FormDialog
          title="Invite person"
          explain={operatorTexts.people.invite}
          close={close}
          action="Invite person"
          fields={[
            [
              { name: 'email', label: 'E-mail', kind: 'email', isRequired: true },
              { name: 'name', label: 'Name' },
            ],
            [
              { name: 'role', label: 'Role', kind: 'choice', options: choices(['user', 'operator']) },
              { name: 'user', label: 'User', finder: finders.user, path: 'new_user.id' },
            ],
            ...NEW_USER_FIELDS,
          ]}
          submit={async ({ email, name, role, user, ...settings }) =>
            done(await admin.invite({ email, name, role, ...(await userOf(user, settings)) }))
          }
          refreshes={['people', 'users', 'balances']}
        />
      )}
    </Opener>
  );
};

/** For a user that the invitation makes. */
const NEW_USER_FIELDS: FormFields = [
  [
    { name: 'credit', label: 'First credit in dollars', placeholder: '10.00', path: 'new_user.credit' },
    { name: 'max_keys', label: 'Own keys', kind: 'number', value: DEFAULT_KEYS, hint: texts.user.ownKeys },
  ],
  ...LIMIT_FIELDS(),
];

/** The members of the invitation that name an existing user, or make a new one. */
async function userOf(user: unknown, settings: FormValues): Promise<object> {
  if (user === undefined) return {};
  const { data } = await admin.users({ user: String(user) });
  if (data.length === 0) return { new_user: { id: user, ...settings } };
  const { max_keys, ...entered } = settings;
  const isEntered = Object.keys(entered).length > 0 || max_keys !== DEFAULT_KEYS;
  if (isEntered) throw new Error(operatorTexts.people.exists(String(user)));
  return { user };
}

interface PersonActionsProps {
  readonly person: ShownPerson;
  readonly showLink: (link: InvitedPerson) => void;
}

const PersonActions = ({ person, showLink }: PersonActionsProps) => {
  const isDisabled = person.state === 'disabled';
  return (
    <span className="row">
      <Opener label="Edit">
        {(close) => (
          <FormDialog
            title={`${t('Change')} ${person.name}`}
            close={close}
            action="Save person"
            clearsEmpty
            original={person}
            fields={[
              { name: 'name', label: 'Name', value: person.name, isRequired: true },
              {
                name: 'role',
                label: 'Role',
                kind: 'choice',
                options: choices(['user', 'operator']),
                value: person.role,
              },
              {
                name: 'user',
                label: 'User',
                finder: finders.user,
                value: person.user,
                hint: operatorTexts.people.user,
              },
            ]}
            submit={(values) => admin.changePerson(person.id, values)}
            refreshes={['people']}
            done={texts.done.personSaved}
          />
        )}
      </Opener>
      <Confirmed
        label="New link"
        explain={operatorTexts.people.reset}
        title={`${t('New link for')} ${person.name}`}
        act={async () => showLink(await admin.resetPerson(person.id))}
      />
      <Confirmed
        label={isDisabled ? 'Enable' : 'Disable'}
        explain={isDisabled ? operatorTexts.people.enable : operatorTexts.people.disable}
        title={`${t(isDisabled ? 'Enable' : 'Disable')} ${person.name}`}
        act={() => admin.changePerson(person.id, { disabled: !isDisabled })}
      />
    </span>
  );
};

interface ConfirmedProps {
  readonly label: string;
  readonly title: string;
  readonly explain: ReactNode;
  readonly act: () => Promise<unknown>;
}

const Confirmed = ({ label, title, explain, act }: ConfirmedProps) => (
  <Opener label={label}>
    {(close) => (
      <FormDialog
        title={title}
        explain={explain}
        close={close}
        action={label}
        fields={[]}
        submit={act}
        refreshes={['people']}
      />
    )}
  </Opener>
);
