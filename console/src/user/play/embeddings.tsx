/** A vector from a text. */
import { useState } from 'react';
import { ProblemNotice } from '../../parts/form.tsx';
import { ofKind, playJson, useCall } from './calls.ts';
import { CodeButton } from './code-button.tsx';
import { ModelField, PlayFooter, PlayForm, type PlayProps } from './parts.tsx';
import { playTexts } from './texts.ts';

interface EmbeddingBody {
  readonly data?: readonly { readonly embedding?: readonly number[] }[];
}

const SHOWN = 8;
const PATH = '/v1/embeddings';

export const PlayEmbeddings = ({ keyId, models, wanted, prompt, setPrompt }: PlayProps) => {
  const [chosen, setModel] = useState(wanted);
  const own = ofKind(models, 'embeddings');
  const model = chosen ?? own[0]?.id ?? '';
  const body = { model, input: prompt, encoding_format: 'float' };
  const call = useCall(() => playJson<EmbeddingBody>(PATH, { key: keyId, body }));
  const { data: result, error: problem, isPending, run } = call;
  const vector = result?.body.data?.[0]?.embedding ?? [];
  return (
    <div className="play">
      <PlayForm
        prompt={prompt}
        setPrompt={setPrompt}
        isRunning={isPending}
        run={run}
        action={<CodeButton request={{ operation: 'embeddings.create', path: PATH, body }} />}
      >
        <ModelField value={model} models={own} onChange={setModel} />
      </PlayForm>
      <section className="card">
        <div className="body fields" aria-live="polite" aria-busy={isPending}>
          {problem && <ProblemNotice problem={problem} />}
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
          {!result && !problem && <div className="empty">{playTexts.noVector}</div>}
        </div>
      </section>
    </div>
  );
};
