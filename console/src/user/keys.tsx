/** Keys of the signed-in user: the home of the user's pages. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { KeyWithValue, Me, OwnKey } from '../../../src/schemas/index.ts';
import { allOf } from '../api/paths.ts';
import { mine } from '../api/user.ts';
import { t } from '../language.ts';
import { ClientSnippets } from '../parts/client-snippets.tsx';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { EditKey, KeyActions, type KeyTree } from '../parts/key-actions.tsx';
import { KEY_FIELDS, KeyCreated, KeyFacts, KeyState, OWN_KEY_COLUMNS } from '../parts/key-parts.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Card, Load, Page } from '../parts/page.tsx';
import { Id } from '../parts/values.tsx';
import { paths } from '../paths.ts';
import { pages, texts } from '../texts.ts';
import { ofKind, useModels } from './play/calls.ts';
import { Wallet } from './wallet.tsx';

export const useMe = () => useQuery({ queryKey: ['me'], queryFn: () => mine.me() });

export const MyKeys = () => {
  const me = useMe();
  return (
    <Page
      title={pages.keys.title}
      lead={me.data && allowanceText(me.data)}
      actions={me.data && me.data.groups.length > 0 && <MakeKey me={me.data} />}
    >
      <div className="stack">
        <Load query={me} things={t('the balance')} lines={2}>
          {(own) => <Wallet me={own} />}
        </Load>
        <FilteredList
          page={pages.keys}
          name="my-keys"
          load={mine.keys}
          columns={OWN_KEY_COLUMNS}
          rowKey={({ id }) => id}
          open={({ id }) => paths.myKey(id)}
          empty={me.data?.max_keys === 0 ? texts.key.noneByOperator : pages.keys.empty}
        />
      </div>
    </Page>
  );
};

/** Why the user can make no key, and what to do. */
function allowanceText({ own_keys, max_keys }: Me): string | undefined {
  if (max_keys === 0) return texts.key.byOperator;
  return own_keys >= max_keys ? texts.key.mostReached(max_keys) : undefined;
}

/** In place of a page that needs a key. */
export const NoKeys = () => {
  const me = useMe();
  return (
    <p className="empty">
      {me.data?.max_keys === 0 ? texts.key.noneByOperator : <Link to={paths.myKeys}>{texts.key.makeFirst}</Link>}
    </p>
  );
};

/** The style of a key's group, and a model that a command can name. */
function useKeyFacts(key: OwnKey | undefined) {
  const me = useMe();
  const models = useModels(key?.state === 'valid' ? key.id : undefined);
  return {
    style: key?.style ?? me.data?.groups.find(({ id }) => id === key?.group)?.style ?? ('responses' as const),
    model: ofKind(models.data?.data, 'text')[0]?.id ?? 'MODEL',
  };
}

const MakeKey = ({ me }: { readonly me: Me }) => {
  const [made, setMade] = useState<KeyWithValue & OwnKey>();
  const { style, model } = useKeyFacts(made);
  return (
    <>
      <Opener label="Make key" className="primary" isDisabled={me.own_keys >= me.max_keys}>
        {(close) => (
          <FormDialog
            title="Make key"
            close={close}
            action="Make key"
            fields={[
              {
                name: 'group',
                label: 'Group',
                kind: 'choice',
                options: me.groups.map(({ id, name, style: own }) => [id, `${name} (${own})`] as const),
                isRequired: true,
                hint: texts.key.oneGroup,
              },
              { name: 'name', label: 'Name', isRequired: true, placeholder: 'ci' },
              ...KEY_FIELDS(),
            ]}
            submit={async (values) => setMade(await mine.createKey(values))}
            refreshes={['my-keys', 'me']}
          />
        )}
      </Opener>
      {made && <KeyCreated made={made} style={style} model={model} close={() => setMade(undefined)} />}
    </>
  );
};

export const useMyKeys = () =>
  useQuery({ queryKey: ['my-keys', 'all'], queryFn: () => allOf(mine.keys), staleTime: 10_000 });

const TREE: KeyTree = { ...mine, queries: 'my-keys', page: paths.myKey, takesReason: false };

export const MyKeyPage = () => {
  const { key: id = '' } = useParams({ strict: false });
  const query = useQuery({ queryKey: ['my-keys', id], queryFn: () => mine.key(id) });
  const key = query.data;
  const { style, model } = useKeyFacts(key);
  return (
    <Page
      title={key?.name ?? id}
      parent={{ title: pages.keys.title, path: paths.myKeys }}
      beside={key && <KeyState state={key.state} />}
      actions={key && key.state === 'valid' && <KeyActions value={key} tree={TREE} style={style} model={model} />}
    >
      <Load query={query} things={pages.key.things}>
        {(found) => (
          <div className="stack">
            <p className="row">
              <code>{found.hint}</code> <Id id={found.id} />
              <Link to={paths.myRequests} search={{ key: found.id } as never}>
                {t('Its calls')}
              </Link>
              {found.state === 'valid' && (
                <>
                  <Link to={paths.myModels} search={{ key: found.id } as never}>
                    {t('Its models')}
                  </Link>
                  <Link to={paths.playground} search={{ key: found.id } as never}>
                    {t('Try it')}
                  </Link>
                </>
              )}
            </p>
            {found.state === 'valid' && (
              <Card title="Use it">
                <ClientSnippets style={style} model={model} />
              </Card>
            )}
            <Card
              title="Settings"
              actions={found.own && found.state === 'valid' && <EditKey value={found} tree={TREE} />}
            >
              <KeyFacts value={found} />
            </Card>
          </div>
        )}
      </Load>
    </Page>
  );
};
