/** Keys of all users, and one key with the commands of its clients. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { admin } from '../api/admin.ts';
import type { Key, NewKey } from '../api/types.ts';
import { ClientSnippets } from '../parts/client-snippets.tsx';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { KEY_FIELDS, KeyCreated, KeyFacts, KeyState, limitsText } from '../parts/key-parts.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Card, Load, Page } from '../parts/page.tsx';
import type { Column } from '../parts/table.tsx';
import { notify } from '../parts/toast.tsx';
import { Id, Time } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { useGroupIds, useGroups, useModels, useUserIds } from './catalog.ts';

export const KEY_COLUMNS: readonly Column<Key>[] = [
  { head: 'Name', cell: ({ name }) => name, phone: 'title' },
  { head: 'State', cell: ({ state }) => <KeyState state={state} />, phone: 'side' },
  { head: 'Key', cell: ({ hint }) => <code>{hint}</code> },
  { head: 'User', cell: ({ user }) => <Link to={paths.user(user)}>{user}</Link> },
  { head: 'Group', cell: ({ group }) => group },
  { head: 'Limits', cell: (key) => <span className="muted">{limitsText(key)}</span>, phone: 'hide' },
  { head: 'Made', cell: ({ created_at }) => <Time at={created_at} />, phone: 'hide' },
];

export const Keys = () => {
  const groups = useGroupIds('text');
  return (
    <Page title={pages.keys.title} actions={<MakeKey />}>
      <FilteredList
        page={pages.keys}
        name="keys"
        load={admin.keys}
        filters={[
          { name: 'user', label: 'User' },
          { name: 'group', label: 'Group', options: groups },
        ]}
        columns={KEY_COLUMNS}
        rowKey={({ id }) => id}
        open={({ id }) => paths.key(id)}
      />
    </Page>
  );
};

/** The style of a group, and a model of it that a command can name. */
export function useGroupFacts(group: string | undefined) {
  const { data: groups } = useGroups();
  const { data: models } = useModels();
  const model = models?.data.find(
    (one) => one.group === group && !one.id.includes('*') && (one.price !== null || one.free),
  );
  return {
    style: groups?.data.find(({ id }) => id === group)?.style ?? ('responses' as const),
    model: model?.id ?? 'MODEL',
  };
}

export const MakeKey = ({ user }: { readonly user?: string }) => {
  const client = useQueryClient();
  const groups = useGroupIds('text');
  const videoGroups = useGroupIds('video');
  const users = useUserIds();
  const [made, setMade] = useState<NewKey>();
  const { style, model } = useGroupFacts(made?.group);
  return (
    <>
      <Opener label="Make key" className="primary">
        {(close) => (
          <FormDialog
            title="Make key"
            close={close}
            action="Make key"
            fields={[
              {
                name: 'user',
                label: 'User',
                kind: 'choice',
                options: user === undefined ? users : [user],
                isRequired: true,
              },
              {
                name: 'group',
                label: 'Group',
                kind: 'choice',
                options: groups,
                isRequired: true,
                hint: texts.key.oneGroup,
              },
              { name: 'name', label: 'Name', isRequired: true, placeholder: 'ci' },
              ...(videoGroups.length > 0
                ? [
                    {
                      name: 'video_groups',
                      label: 'Video groups',
                      kind: 'list' as const,
                      hint: `Some of ${videoGroups.join(', ')}. Empty: all.`,
                    },
                  ]
                : []),
              ...KEY_FIELDS(),
            ]}
            submit={async (values) => {
              setMade(await admin.createKey(values));
              await client.invalidateQueries({ queryKey: ['keys'] });
            }}
          />
        )}
      </Opener>
      {made && <KeyCreated made={made} style={style} model={model} close={() => setMade(undefined)} />}
    </>
  );
};

export const KeyPage = () => {
  const { key: id = '' } = useParams({ strict: false });
  // The API has no single key; a page of 1000 holds every key of most gateways.
  const query = useQuery({ queryKey: ['keys', 'find', id], queryFn: () => findKey(id) });
  const key = query.data;
  const { style, model } = useGroupFacts(key?.group);
  return (
    <Page
      title={key?.name ?? id}
      parent={{ title: pages.keys.title, path: paths.keys }}
      beside={key && <KeyState state={key.state} />}
      actions={key && key.state === 'valid' && <KeyActions value={key} />}
    >
      <Load query={query} things={pages.key.things}>
        {(found) => (
          <div className="stack">
            <p className="row">
              <code>{found.hint}</code> <Id id={found.id} /> of <Link to={paths.user(found.user)}>{found.user}</Link>
              <Link to={paths.requests} search={{ key: found.id } as never}>
                Its calls
              </Link>
            </p>
            <Card title="Use it">
              <ClientSnippets style={style} model={model} />
            </Card>
            <Card title="Settings" actions={found.state === 'valid' && <EditKey value={found} />}>
              <KeyFacts value={found} />
            </Card>
          </div>
        )}
      </Load>
    </Page>
  );
};

const MAX_PAGES = 50;

async function findKey(id: string): Promise<Key> {
  let cursor: string | undefined;
  for (let n = 0; n < MAX_PAGES; n += 1) {
    const page = await admin.keys({ limit: 1000, cursor });
    const found = page.data.find((key) => key.id === id);
    if (found) return found;
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  throw new Error(`There is no key “${id}”.`);
}

const EditKey = ({ value }: { readonly value: Key }) => {
  const client = useQueryClient();
  return (
    <Opener label="Edit key">
      {(close) => (
        <FormDialog
          title={`Change ${value.name}`}
          close={close}
          action="Save key"
          clearsEmpty
          fields={KEY_FIELDS(value)}
          submit={async (values) => {
            await admin.changeKey(value.id, values);
            await client.invalidateQueries({ queryKey: ['keys'] });
            notify('The key is saved.');
          }}
        />
      )}
    </Opener>
  );
};

const KeyActions = ({ value }: { readonly value: Key }) => {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [made, setMade] = useState<NewKey>();
  const { style, model } = useGroupFacts(value.group);
  const refresh = () => client.invalidateQueries({ queryKey: ['keys'] });
  return (
    <>
      <Opener label="Rotate">
        {(close) => (
          <FormDialog
            title={`Rotate ${value.name}`}
            explain={texts.key.rotate}
            close={close}
            action="Rotate key"
            fields={[{ name: 'overlap_seconds', label: 'Overlap in seconds', kind: 'number', value: 3600 }]}
            submit={async (values) => {
              setMade(await admin.rotateKey(value.id, values));
              await refresh();
            }}
          />
        )}
      </Opener>
      <Opener label="Revoke" className="danger">
        {(close) => (
          <FormDialog
            title={`Revoke ${value.name}`}
            explain={texts.key.revoke}
            close={close}
            action="Revoke key"
            isDanger
            fields={[{ name: 'reason', label: 'Reason', hint: 'For the audit log.' }]}
            submit={async (values) => {
              await admin.revokeKey(value.id, values);
              await refresh();
              notify('The key is revoked.');
            }}
          />
        )}
      </Opener>
      {made && (
        <KeyCreated
          made={made}
          style={style}
          model={model}
          close={() => {
            setMade(undefined);
            void navigate({ to: paths.key(made.id) });
          }}
        />
      )}
    </>
  );
};
