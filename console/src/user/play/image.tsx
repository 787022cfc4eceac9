/** Images from a text, or edits of pictures, with the presets of the gateway and its pixel budget. */
import { useState } from 'react';
import { IMAGE_PRESETS, PIXEL_BUDGET, STANDARD_IMAGE_SIZES } from '../../../../src/rules/images.ts';
import { countText } from '../../format/count.ts';
import { Choice } from '../../parts/choice.tsx';
import type { FormMember } from '../../parts/request-code.ts';
import { Attachments } from './attachments.tsx';
import { playJson, useCall } from './calls.ts';
import type { PlayedRequest } from './code-button.tsx';
import type { Attachment } from './conversation.ts';
import { PlayFooter, PlayForm, type PlayProps, useModel } from './parts.tsx';
import { playTexts } from './texts.ts';

const SIZES = [
  ...new Set([...STANDARD_IMAGE_SIZES, ...Object.values(IMAGE_PRESETS).flatMap((row) => Object.values(row))]),
];
const QUALITIES = ['auto', 'low', 'medium', 'high'] as const;
/** What an edit takes; a mask has transparent parts. */
const EDITABLE = 'image/png,image/jpeg,image/webp';
const MASKS = 'image/png,image/webp';

export const PlayImage = (props: PlayProps) => {
  const { keyId, prompt, setPrompt, isWaiting } = props;
  const { model, modelField } = useModel(props, 'image');
  const [size, setSize] = useState('1024x1024');
  const [quality, setQuality] = useState<string>('low');
  const [pictures, setPictures] = useState<readonly Attachment[]>([]);
  const [masks, setMasks] = useState<readonly Attachment[]>([]);
  const fields = { model, prompt, size, quality };
  const isEdit = pictures.length > 0;
  const request = isEdit ? editRequest(fields, pictures, masks) : { ...GENERATION, body: fields };
  const call = useCall(() =>
    playJson<ImageBody>(request.path, {
      key: keyId,
      body: isEdit ? formOf(fields, pictures, masks) : fields,
    }),
  );
  const { data: result, error, isPending } = call;
  return (
    <PlayForm
      prompt={prompt}
      setPrompt={setPrompt}
      isWaiting={isWaiting}
      call={call}
      request={request}
      fields={
        <>
          {modelField}
          <div className="field-row">
            <Choice label="Size" value={size} options={SIZES} onChange={setSize} />
            <Choice label="Quality" value={quality} options={QUALITIES} onChange={setQuality} />
          </div>
          <p className="muted small">{pixelText(size)}</p>
          <Attachments
            label="Pictures"
            hint={playTexts.editHint}
            accept={EDITABLE}
            files={pictures}
            onChange={setPictures}
          />
          {isEdit && <Attachments label="Mask" hint="" accept={MASKS} max={1} files={masks} onChange={setMasks} />}
        </>
      }
    >
      {result &&
        imagesIn(result.body).map((source) => (
          <img key={source.slice(-64)} className="media" src={source} alt={prompt} />
        ))}
      {!result && !error && <div className="empty">{isPending ? playTexts.drawing : playTexts.noImage}</div>}
      {result && <PlayFooter keyId={keyId} headers={result.headers} />}
    </PlayForm>
  );
};

const GENERATION = { operation: 'images.generate', path: '/v1/images/generations' } as const;

type Fields = Readonly<Record<string, string>>;

function editRequest(
  fields: Fields,
  pictures: readonly Attachment[],
  masks: readonly Attachment[],
): PlayedRequest & { readonly form: readonly FormMember[] } {
  const form = [
    ...Object.entries(fields).map(([name, value]) => ({ name, value })),
    ...pictures.map(({ name: file }) => ({ name: 'image[]', file })),
    ...masks.map(({ name: file }) => ({ name: 'mask', file })),
  ];
  return { operation: 'images.edit', path: '/v1/images/edits', form };
}

function formOf(fields: Fields, pictures: readonly Attachment[], masks: readonly Attachment[]): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  for (const file of pictures) form.append('image[]', blobOf(file), file.name);
  for (const file of masks) form.append('mask', blobOf(file), file.name);
  return form;
}

const blobOf = ({ mediaType, data }: Attachment): Blob =>
  new Blob([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))], { type: mediaType });

function pixelText(size: string): string {
  const [width, height] = size.split('x').map(Number);
  if (!width || !height) return playTexts.mostPixels(countText(PIXEL_BUDGET));
  return playTexts.pixels(countText(width * height), countText(PIXEL_BUDGET));
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
