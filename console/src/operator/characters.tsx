/** Public characters: what callers may put into videos. */
import type { ShownCharacter } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { FilteredList } from '../parts/list.tsx';
import { Page } from '../parts/page.tsx';
import { State } from '../parts/state.tsx';
import type { Column } from '../parts/table.tsx';
import { Id } from '../parts/values.tsx';
import { pages, texts } from '../texts.ts';
import { useGroupIds } from './catalog.ts';
import { operatorTexts } from './texts.ts';

const COLUMNS: readonly Column<ShownCharacter>[] = [
  { head: 'Preview', cell: (character) => <Preview character={character} /> },
  { head: 'Name', cell: ({ name }) => name, phone: 'title' },
  {
    head: 'State',
    cell: ({ published }) => (
      <State tone={published ? 'ok' : 'muted'}>{published ? t('Published') : t('Not published')}</State>
    ),
    phone: 'side',
  },
  { head: 'Id', cell: ({ public_id }) => <Id id={public_id} />, phone: 'hide' },
  { head: 'Group', cell: ({ group }) => group },
  { head: 'Models', cell: ({ models }) => models.join(', '), kind: 'grow', phone: 'hide' },
  { head: 'Change', cell: (character) => <CharacterActions character={character} />, kind: 'actions' },
];

/** The gateway serves an uploaded picture once its character is published. */
const Preview = ({ character }: { readonly character: ShownCharacter }) => {
  const { public_id, preview_type, preview_url, published } = character;
  if (preview_type && !published) return <span className="muted">{operatorTexts.character.uploaded}</span>;
  const source = preview_type ? `/public/characters/${public_id}/preview` : preview_url;
  return source ? (
    <img className="thumb" src={source} alt="" loading="lazy" referrerPolicy="no-referrer" />
  ) : (
    <span className="muted">{operatorTexts.character.noPreview}</span>
  );
};

export const Characters = () => {
  const groups = useGroupIds('video');
  return (
    <Page
      title={pages.characters.title}
      actions={
        <Opener label="Add character" className="primary">
          {(close) => (
            <FormDialog
              title="Add character"
              close={close}
              action="Add character"
              fields={[
                { name: 'id', label: 'Id', isRequired: true, placeholder: 'anna' },
                { name: 'name', label: 'Name', isRequired: true },
                { name: 'group', label: 'Group', kind: 'choice', options: groups, isRequired: true },
                { name: 'models', label: 'Models', kind: 'list', isRequired: true },
                { name: 'upstream_asset', label: 'Asset at the provider', isRequired: true },
                { name: 'preview_url', label: 'Preview URL' },
                { name: 'tags', label: 'Tags', kind: 'list' },
                { name: 'licence', label: 'Licence', hint: operatorTexts.character.licence },
              ]}
              submit={(values) => admin.createCharacter(values)}
              refreshes={['characters']}
              done={texts.done.characterAdded}
            />
          )}
        </Opener>
      }
    >
      <FilteredList
        page={pages.characters}
        name="characters"
        load={admin.characters}
        filters={[{ name: 'group', label: 'Group', options: groups }]}
        columns={COLUMNS}
        rowKey={({ id }) => id}
      />
    </Page>
  );
};

/** A picture replaces the preview URL. */
const Picture = ({ character }: { readonly character: ShownCharacter }) => (
  <Opener label="Picture">
    {(close) => (
      <FormDialog
        title={`${t('Picture of')} ${character.name}`}
        explain={operatorTexts.character.picture}
        close={close}
        action="Upload picture"
        fields={[{ name: 'file', label: 'File', kind: 'file', isRequired: true }]}
        submit={async ({ file }) => admin.uploadPreview(character.id, await base64Of(file as File))}
        refreshes={['characters']}
        done={texts.done.pictureUploaded}
      />
    )}
  </Opener>
);

/** A data URL is the shortest way from a file to Base64 in a browser. */
const base64Of = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^data:[^,]*,/, ''));
    reader.onerror = () => reject(new Error(operatorTexts.character.unreadable));
    reader.readAsDataURL(file);
  });

const CharacterActions = ({ character }: { readonly character: ShownCharacter }) => {
  const { id, published } = character;
  const verb = published ? 'Unpublish' : 'Publish';
  return (
    <span className="row">
      <Opener label={verb}>
        {(close) => (
          <FormDialog
            title={`${t(verb)} ${character.name}`}
            explain={published ? operatorTexts.character.unpublish : operatorTexts.character.publish}
            close={close}
            action={published ? 'Unpublish character' : 'Publish character'}
            fields={[]}
            submit={() => admin.publishCharacter(id, !published)}
            refreshes={['characters']}
          />
        )}
      </Opener>
      <Picture character={character} />
      <Opener label="Delete" className="danger">
        {(close) => (
          <FormDialog
            title={`${t('Delete')} ${character.name}`}
            explain={operatorTexts.character.remove}
            close={close}
            action="Delete character"
            isDanger
            fields={[]}
            submit={() => admin.deleteCharacter(id)}
            refreshes={['characters']}
          />
        )}
      </Opener>
    </span>
  );
};
