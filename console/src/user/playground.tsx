/** Try a key: text in every dialect, images, videos. The prompt survives a change of the dialect. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { OwnKey } from '../../../src/objects/index.ts';
import { Load, Page } from '../parts/page.tsx';
import { paths } from '../paths.ts';
import type { Search } from '../search.ts';
import { pages, texts } from '../texts.ts';
import { useMyKeys } from './keys.tsx';
import { PlayImage } from './play-image.tsx';
import { playModels } from './play-models.ts';
import { PlayText } from './play-text.tsx';
import { PlayVideo } from './play-video.tsx';

const FORMS = { text: 'Text', image: 'Image', video: 'Video' } as const;
type FormName = keyof typeof FORMS;

export const Playground = () => {
  const keys = useMyKeys();
  return (
    <Page title={pages.playground.title} lead={texts.playground.lead}>
      <Load query={keys} things={pages.keys.things}>
        {({ data }) => {
          const valid = data.filter(({ state }) => state === 'valid');
          return valid.length === 0 ? (
            <p className="empty">
              <Link to={paths.myKeys}>{texts.playground.noKeys}</Link>
            </p>
          ) : (
            <Forms keys={valid} />
          );
        }}
      </Load>
    </Page>
  );
};

const Forms = ({ keys }: { readonly keys: readonly OwnKey[] }) => {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const form: FormName = search.form === 'image' || search.form === 'video' ? search.form : 'text';
  const key = keys.find(({ id }) => id === search.key) ?? keys[0];
  const [prompt, setPrompt] = useState<string>(SAMPLES[form]);
  const models = useQuery({
    queryKey: ['play-models', key?.id],
    queryFn: () => playModels(key?.id ?? ''),
    staleTime: 60_000,
  });
  const change = (next: Search): void =>
    void navigate({ to: '.', search: () => ({ ...search, ...next }), replace: true });
  if (!key) return null;
  const style = key.style ?? 'responses';
  const shared = { keyId: key.id, style, models: models.data ?? [], prompt, setPrompt };
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
                change({ form: name });
              }}
            >
              {FORMS[name]}
            </button>
          ))}
        </div>
        <label>
          Key
          <select value={key.id} onChange={(event) => change({ key: event.target.value })}>
            {keys.map(({ id, name, group }) => (
              <option key={id} value={id}>
                {name} ({group})
              </option>
            ))}
          </select>
        </label>
      </div>
      {form === 'text' && <PlayText {...shared} />}
      {form === 'image' && <PlayImage {...shared} />}
      {form === 'video' && <PlayVideo {...shared} />}
    </>
  );
};

const SAMPLES: Readonly<Record<FormName, string>> = {
  text: texts.playground.sample,
  image: texts.playground.sampleImage,
  video: texts.playground.sampleVideo,
};
