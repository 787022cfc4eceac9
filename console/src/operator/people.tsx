/** People who sign in: invite, change, new link, sign out. */
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { InvitedPerson, ShownPerson } from '../../../src/objects/index.ts';
import { admin } from '../api/admin.ts';
import { Snippet } from '../parts/code.tsx';
import { Dialog, Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import { State, type Tone } from '../parts/state.tsx';
import { notify } from '../parts/toast.tsx';
import { Time } from '../parts/values.tsx';
import { pages, texts } from '../texts.ts';
import { useUserIds } from './catalog.ts';

const TONES: Readonly<Record<ShownPerson['state'], Tone>> = { invited: 'warn', active: 'ok', disabled: 'muted' };

export const People = () => {
  const [link, setLink] = useState<InvitedPerson>();
  return (
    <Page title={pages.people.title} lead={pages.people.lead} actions={<Invite done={setLink} />}>
      <FilteredList
        page={pages.people}
        name="people"
        load={admin.people}
        filters={[{ name: 'role', label: 'Role', options: ['operator', 'user'] }]}
        columns={[
          { head: 'Name', cell: ({ name }) => name, phone: 'title' },
          { head: 'State', cell: ({ state }) => <State tone={TONES[state]}>{state}</State>, phone: 'side' },
          { head: 'E-mail', cell: ({ email }) => email },
          { head: 'Role', cell: ({ role }) => role },
          { head: 'User', cell: ({ user }) => user ?? '–', phone: 'hide' },
          { head: 'Signed in', cell: ({ signed_in_at }) => <Time at={signed_in_at} />, phone: 'hide' },
          { head: 'Change', cell: (person) => <PersonActions person={person} showLink={setLink} /> },
        ]}
        rowKey={({ id }) => id}
      />
      {link && (
        <Dialog title="Link" onClose={() => setLink(undefined)}>
          <h2>Link for {link.email}</h2>
          <p className="notice" data-tone="warn">
            {texts.people.linkOnce}
          </p>
          <Snippet text={link.link} />
          <p className="muted">
            Valid until <Time at={link.link_expires_at} />
          </p>
          <div className="ends">
            <button type="button" className="primary" onClick={() => setLink(undefined)}>
              Done
            </button>
          </div>
        </Dialog>
      )}
    </Page>
  );
};

const Invite = ({ done }: { readonly done: (link: InvitedPerson) => void }) => {
  const client = useQueryClient();
  const users = useUserIds();
  return (
    <Opener label="Invite person" className="primary">
      {(close) => (
        <FormDialog
          title="Invite person"
          explain={texts.people.invite}
          close={close}
          action="Invite person"
          fields={[
            { name: 'email', label: 'E-mail', kind: 'email', isRequired: true },
            { name: 'name', label: 'Name' },
            { name: 'role', label: 'Role', kind: 'choice', options: ['user', 'operator'] },
            { name: 'user', label: 'User', kind: 'choice', options: [['', 'None'], ...users] },
          ]}
          submit={async (values) => {
            done(await admin.invite(values));
            await client.invalidateQueries({ queryKey: ['people'] });
          }}
        />
      )}
    </Opener>
  );
};

interface PersonActionsProps {
  readonly person: ShownPerson;
  readonly showLink: (link: InvitedPerson) => void;
}

const PersonActions = ({ person, showLink }: PersonActionsProps) => {
  const client = useQueryClient();
  const users = useUserIds();
  const refresh = () => client.invalidateQueries({ queryKey: ['people'] });
  const isDisabled = person.state === 'disabled';
  return (
    <span className="row">
      <Opener label="Edit">
        {(close) => (
          <FormDialog
            title={`Change ${person.name}`}
            close={close}
            action="Save person"
            fields={[
              { name: 'name', label: 'Name', value: person.name, isRequired: true },
              { name: 'role', label: 'Role', kind: 'choice', options: ['user', 'operator'], value: person.role },
              { name: 'user', label: 'User', kind: 'choice', options: [['', 'None'], ...users], value: person.user },
            ]}
            submit={async ({ user = null, ...values }) => {
              await admin.changePerson(person.id, { ...values, user });
              await refresh();
              notify(texts.done.personSaved);
            }}
          />
        )}
      </Opener>
      <Confirmed
        label="New link"
        explain={texts.people.reset}
        title={`New link for ${person.name}`}
        act={async () => showLink(await admin.resetPerson(person.id))}
      />
      <Confirmed
        label={isDisabled ? 'Enable' : 'Disable'}
        explain={isDisabled ? texts.people.enable : texts.people.disable}
        title={`${isDisabled ? 'Enable' : 'Disable'} ${person.name}`}
        act={async () => {
          await admin.changePerson(person.id, { disabled: !isDisabled });
          await refresh();
        }}
      />
    </span>
  );
};

interface ConfirmedProps {
  readonly label: string;
  readonly title: string;
  readonly explain: ReactNode;
  readonly act: () => Promise<void>;
}

const Confirmed = ({ label, title, explain, act }: ConfirmedProps) => (
  <Opener label={label}>
    {(close) => <FormDialog title={title} explain={explain} close={close} action={label} fields={[]} submit={act} />}
  </Opener>
);
