/** A vector from a text. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ProblemNotice } from '../parts/form.tsx';
import { texts } from '../texts.ts';
import { ofKind, playJson } from './play-models.ts';
import { Charge, footerOf, ModelField, PlayForm, type PlayProps } from './play-parts.tsx';

interface EmbeddingBody {
  readonly data?: readonly { readonly embedding?: readonly number[] }[];
}

const SHOWN = 8;

export const PlayEmbeddings = ({ keyId, models, wanted, prompt, setPrompt }: PlayProps) => {
  const [chosen, setModel] = useState(wanted);
  const own = ofKind(models, 'embeddings');
  const model = chosen ?? own[0]?.id ?? '';
  const run = useMutation({
    mutationFn: () =>
      playJson<EmbeddingBody>('/v1/embeddings', {
        key: keyId,
        body: { model, input: prompt, encoding_format: 'float' },
      }),
  });
  const { data: result, error: problem, isPending: isRunning } = run;
  const vector = result?.body.data?.[0]?.embedding ?? [];
  return (
    <div className="play">
      <PlayForm prompt={prompt} setPrompt={setPrompt} isRunning={isRunning} run={() => run.mutate()}>
        <ModelField value={model} models={own} onChange={setModel} />
      </PlayForm>
      <section className="card">
        <div className="body fields" aria-live="polite" aria-busy={isRunning}>
          {problem && <ProblemNotice problem={problem} />}
          {result && (
            <>
              <p>{texts.playground.dimensions(vector.length)}</p>
              <code className="break">
                [{vector.slice(0, SHOWN).join(', ')}
                {vector.length > SHOWN ? ', …' : ''}]
              </code>
              <p className="muted small break">
                {footerOf(result.headers)} <Charge headers={result.headers} />
              </p>
            </>
          )}
          {!result && !problem && <div className="empty">{texts.playground.noVector}</div>}
        </div>
      </section>
    </div>
  );
};
