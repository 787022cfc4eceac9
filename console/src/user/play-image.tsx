/** Images from a text, with the presets of the gateway and its pixel budget. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { IMAGE_PRESETS, PIXEL_BUDGET, STANDARD_IMAGE_SIZES } from '../../../src/rules/images.ts';
import { countText } from '../format/count.ts';
import { Choice } from '../parts/choice.tsx';
import { ProblemNotice } from '../parts/form.tsx';
import { texts } from '../texts.ts';
import { ofKind, playJson } from './play-models.ts';
import { Charge, footerOf, ModelField, PlayForm, type PlayProps } from './play-parts.tsx';

const SIZES = [
  ...new Set([...STANDARD_IMAGE_SIZES, ...Object.values(IMAGE_PRESETS).flatMap((row) => Object.values(row))]),
];
const QUALITIES = ['auto', 'low', 'medium', 'high'] as const;

export const PlayImage = ({ keyId, models, wanted, prompt, setPrompt }: PlayProps) => {
  const [chosen, setModel] = useState(wanted);
  const [size, setSize] = useState('1024x1024');
  const [quality, setQuality] = useState<string>('low');
  const own = ofKind(models, 'image');
  const model = chosen ?? own[0]?.id ?? '';
  const run = useMutation({
    mutationFn: () =>
      playJson<ImageBody>('/v1/images/generations', { key: keyId, body: { model, prompt, size, quality } }),
  });
  const { data: result, error: problem, isPending: isRunning } = run;
  return (
    <div className="play">
      <PlayForm prompt={prompt} setPrompt={setPrompt} isRunning={isRunning} run={() => run.mutate()}>
        <ModelField value={model} models={own} onChange={setModel} />
        <div className="field-row">
          <Choice label="Size" value={size} options={SIZES} onChange={setSize} />
          <Choice label="Quality" value={quality} options={QUALITIES} onChange={setQuality} />
        </div>
        <p className="muted small">{pixelText(size)}</p>
      </PlayForm>
      <section className="card">
        <div className="body fields" aria-live="polite" aria-busy={isRunning}>
          {problem && <ProblemNotice problem={problem} />}
          {result &&
            imagesIn(result.body).map((source) => (
              <img key={source.slice(-64)} className="media" src={source} alt={prompt} />
            ))}
          {!result && !problem && (
            <div className="empty">{isRunning ? texts.playground.drawing : texts.playground.noImage}</div>
          )}
          {result && (
            <p className="muted small break">
              {footerOf(result.headers)} <Charge headers={result.headers} />
            </p>
          )}
        </div>
      </section>
    </div>
  );
};

function pixelText(size: string): string {
  const [width, height] = size.split('x').map(Number);
  if (!width || !height) return texts.playground.mostPixels(countText(PIXEL_BUDGET));
  return texts.playground.pixels(countText(width * height), countText(PIXEL_BUDGET));
}

interface ImageBody {
  readonly data?: readonly { readonly b64_json?: string; readonly url?: string }[];
  readonly output_format?: string;
}

/** The format is text of the provider; an SVG image is markup. */
const FORMATS: readonly string[] = ['png', 'jpeg', 'webp'];

function imagesIn({ data = [], output_format = '' }: ImageBody): string[] {
  const format = FORMATS.includes(output_format) ? output_format : 'png';
  return data.flatMap(({ b64_json, url }) =>
    b64_json ? [`data:image/${format};base64,${b64_json}`] : url ? [url] : [],
  );
}
