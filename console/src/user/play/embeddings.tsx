/** A vector from a text. */
import { playJson, useCall } from './calls.ts';
import { PlayFooter, PlayForm, type PlayProps, useModel } from './parts.tsx';
import { playTexts } from './texts.ts';

interface EmbeddingBody {
  readonly data?: readonly { readonly embedding?: readonly number[] }[];
}

const SHOWN = 8;
const PATH = '/v1/embeddings';

export const PlayEmbeddings = (props: PlayProps) => {
  const { keyId, prompt, setPrompt, isWaiting } = props;
  const { model, modelField } = useModel(props, 'embeddings');
  const body = { model, input: prompt, encoding_format: 'float' };
  const call = useCall(() => playJson<EmbeddingBody>(PATH, { key: keyId, body }));
  const { data: result, error } = call;
  const vector = result?.body.data?.[0]?.embedding ?? [];
  return (
    <PlayForm
      prompt={prompt}
      setPrompt={setPrompt}
      isWaiting={isWaiting}
      call={call}
      request={{ operation: 'embeddings.create', path: PATH, body }}
      fields={modelField}
    >
      {result && (
        <>
          <p>{playTexts.dimensions(vector.length)}</p>
          <code className="break">
            [{vector.slice(0, SHOWN).join(', ')}
            {vector.length > SHOWN ? ', …' : ''}]
          </code>
          <PlayFooter keyId={keyId} headers={result.headers} />
        </>
      )}
      {!result && !error && <div className="empty">{playTexts.noVector}</div>}
    </PlayForm>
  );
};
