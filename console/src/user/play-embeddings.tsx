/** A vector from a text. */
import { useState } from 'react';
import { problemOf } from '../api/client.ts';
import { ProblemNotice } from '../parts/form.tsx';
import { texts } from '../texts.ts';
import { ofKind, play } from './play-models.ts';
import { Charge, footerOf, ModelField, PlayForm, type PlayProps } from './play-parts.tsx';

interface Result {
  readonly vector: readonly number[];
  readonly headers: Headers;
}

const SHOWN = 8;

export const PlayEmbeddings = ({ keyId, models, wanted, prompt, setPrompt }: PlayProps) => {
  const [chosen, setModel] = useState(wanted);
  const [isRunning, setRunning] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const [result, setResult] = useState<Result>();
  const own = ofKind(models, 'embeddings');
  const model = chosen ?? own[0]?.id ?? '';
  const start = async (): Promise<void> => {
    setRunning(true);
    setProblem(undefined);
    setResult(undefined);
    try {
      const response = await play('/v1/embeddings', {
        key: keyId,
        body: { model, input: prompt, encoding_format: 'float' },
      });
      const body = await response.json();
      if (!response.ok) throw problemOf(response, body);
      setResult({ vector: body.data?.[0]?.embedding ?? [], headers: response.headers });
    } catch (error) {
      setProblem(error as Error);
    } finally {
      setRunning(false);
    }
  };
  return (
    <div className="play">
      <PlayForm prompt={prompt} setPrompt={setPrompt} isRunning={isRunning} run={() => void start()}>
        <ModelField value={model} models={own} onChange={setModel} />
      </PlayForm>
      <section className="card">
        <div className="body fields" aria-live="polite" aria-busy={isRunning}>
          {problem && <ProblemNotice problem={problem} />}
          {result && (
            <>
              <p>{texts.playground.dimensions(result.vector.length)}</p>
              <code className="break">
                [{result.vector.slice(0, SHOWN).join(', ')}
                {result.vector.length > SHOWN ? ', …' : ''}]
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
