/** Keys of all users, and one key with the commands of its clients. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { KeyWithValue } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { ClientSnippets } from '../parts/client-snippets.tsx';
import { Opener } from '../parts/dialog.tsx';
import { finders } from '../parts/finders.ts';
import { FormDialog } from '../parts/form.tsx';
import { EditKey, KeyActions, type KeyTree } from '../parts/key-actions.tsx';
import { KEY_COLUMNS, KEY_FIELDS, KeyCreated, KeyFacts, KeyState } from '../parts/key-parts.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Card, Load, Page } from '../parts/page.tsx';
import { Id } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { useGroupIds, useGroups, useModels } from './catalog.ts';

export const Keys = () => {
  const groups = useGroupIds('text');
  return (
    <Page title={pages.keys.title} actions={<MakeKey />}>
      <FilteredList
        page={pages.keys}
        name="keys"
        load={admin.keys}
        filters={[
          { name: 'name', label: 'Name', type: 'part' },
          { name: 'user', label: 'User', finder: finders.user },
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
  const groups = useGroupIds('text');
  const videoGroups = useGroupIds('video');
  const [made, setMade] = useState<KeyWithValue>();
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
                finder: finders.user,
                value: user,
                isReadOnly: user !== undefined,
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
                      hint: texts.key.videoGroups(videoGroups.join(', ')),
                    },
                  ]
                : []),
              ...KEY_FIELDS(),
            ]}
            submit={async (values) => setMade(await admin.createKey(values))}
            refreshes={['keys']}
          />
        )}
      </Opener>
      {made && <KeyCreated made={made} style={style} model={model} close={() => setMade(undefined)} />}
    </>
  );
};

const TREE: KeyTree = { ...admin, queries: 'keys', page: paths.key, takesReason: true };

export const KeyPage = () => {
  const { key: id = '' } = useParams({ strict: false });
  const query = useQuery({ queryKey: ['keys', id], queryFn: () => admin.key(id) });
  const key = query.data;
  const { style, model } = useGroupFacts(key?.group);
  return (
    <Page
      title={key?.name ?? id}
      parent={{ title: pages.keys.title, path: paths.keys }}
      beside={key && <KeyState state={key.state} />}
      actions={key && key.state === 'valid' && <KeyActions value={key} tree={TREE} style={style} model={model} />}
    >
      <Load query={query} things={pages.key.things}>
        {(found) => (
          <div className="stack">
            <p className="row">
              <code>{found.hint}</code> <Id id={found.id} /> {t('of')}{' '}
              <Link to={paths.user(found.user)}>{found.user}</Link>
              <Link to={paths.requests} search={{ key: found.id } as never}>
                {t('Its calls')}
              </Link>
            </p>
            {found.state === 'valid' && (
              <Card title="Use it">
                <ClientSnippets style={style} model={model} />
              </Card>
            )}
            <Card title="Settings" actions={found.state === 'valid' && <EditKey value={found} tree={TREE} />}>
              <KeyFacts value={found} />
            </Card>
          </div>
        )}
      </Load>
    </Page>
  );
};
