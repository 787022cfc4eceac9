/** Try a key: text in every dialect, images, videos. The prompt survives a change of the dialect. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useId, useState } from 'react';
import type { OwnKey } from '../../../src/schemas/index.ts';
import { t } from '../language.ts';
import { Load, Page } from '../parts/page.tsx';
import type { Search } from '../search.ts';
import { pages } from '../texts.ts';
import { NoKeys, useMyKeys } from './keys.tsx';
import { ofKind, useModels } from './play/calls.ts';
import { PlayEmbeddings } from './play/embeddings.tsx';
import { PlayImage } from './play/image.tsx';
import { PlayText } from './play/text.tsx';
import { playTexts } from './play/texts.ts';
import { PlayVideo } from './play/video.tsx';
import '../styles/play.css';

const FORMS = { text: 'Text', image: 'Image', video: 'Video', embeddings: 'Embeddings' } as const;
type FormName = keyof typeof FORMS;

export const Playground = () => {
  const keys = useMyKeys();
  return (
    <Page title={pages.playground.title} lead={playTexts.lead}>
      <Load query={keys} things={pages.keys.things}>
        {({ data }) => {
          const valid = data.filter(({ state }) => state === 'valid');
          return valid.length === 0 ? <NoKeys /> : <Forms keys={valid} />;
        }}
      </Load>
    </Page>
  );
};

const Forms = ({ keys }: { readonly keys: readonly OwnKey[] }) => {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const id = useId();
  const form: FormName = (Object.keys(FORMS) as FormName[]).find((name) => name === search.form) ?? 'text';
  const [tried, setTried] = useState(0);
  const key = keys.find(({ id }) => id === search.key) ?? keys[tried];
  const [prompt, setPrompt] = useState<string>(SAMPLES[form]);
  const models = useModels(key?.id);
  const change = (next: Search): void =>
    void navigate({ to: '.', search: () => ({ ...search, ...next }), replace: true });
  if (!key) return null;
  const shared = {
    keyId: key.id,
    keys,
    models: models.data?.data ?? [],
    isWaiting: models.isPending,
    wanted: search.model,
    prompt,
    setPrompt,
  };
  const hasNone = models.data !== undefined && ofKind(models.data.data, form).length === 0;
  // Until somebody chooses one, the first key that can call a model of the form.
  if (hasNone && search.key === undefined && tried + 1 < keys.length) setTried(tried + 1);
  return (
    <>
      <div className="filters">
        <div className="segments">
          {(Object.keys(FORMS) as FormName[]).map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === form}
              onClick={() => {
                if (Object.values(SAMPLES).some((sample) => sample === prompt)) setPrompt(SAMPLES[name]);
                setTried(0);
                change({ form: name, model: undefined });
              }}
            >
              {t(FORMS[name])}
            </button>
          ))}
        </div>
        <div className="filter" data-name="key">
          <label htmlFor={id}>{t('Key')}</label>
          <select id={id} value={key.id} onChange={(event) => change({ key: event.target.value, model: undefined })}>
            {keys.map(({ id: own, name, groups }) => (
              <option key={own} value={own}>
                {name} ({groups.join(', ')})
              </option>
            ))}
          </select>
        </div>
      </div>
      {hasNone && <p className="notice">{playTexts.noModel(t(FORMS[form]).toLowerCase())}</p>}
      {form === 'text' && <PlayText {...shared} />}
      {form === 'image' && <PlayImage {...shared} />}
      {form === 'video' && <PlayVideo {...shared} />}
      {form === 'embeddings' && <PlayEmbeddings {...shared} />}
    </>
  );
};

const SAMPLES: Readonly<Record<FormName, string>> = {
  text: playTexts.sample,
  image: playTexts.sampleImage,
  video: playTexts.sampleVideo,
  embeddings: playTexts.sampleText,
};
