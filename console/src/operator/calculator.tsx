/** What a call of a model would be charged. The server computes it, by the code that charges calls. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { GroupStyle, ShownModel } from '../../../src/objects/index.ts';
import { RATIOS, RESOLUTIONS } from '../../../src/rules/video/sizes.ts';
import { admin } from '../api/admin.ts';
import { Choice } from '../parts/choice.tsx';
import { ProblemNotice } from '../parts/form.tsx';
import { Card } from '../parts/page.tsx';
import { Sums } from '../parts/sums.tsx';
import { texts } from '../texts.ts';

interface QuoteField {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly options?: readonly string[];
}

const TEXT_FIELDS: readonly QuoteField[] = [
  { name: 'input_tokens', label: 'Input tokens', value: '10000' },
  { name: 'cached_input_tokens', label: 'of them cached', value: '0' },
  { name: 'output_tokens', label: 'Output tokens', value: '1000' },
];
const IMAGE_FIELDS: readonly QuoteField[] = [
  { name: 'images', label: 'Images', value: '1' },
  { name: 'image_kind', label: 'Size and quality', value: '1024x1024/medium' },
];
const IMAGE_TOKENS: QuoteField = { name: 'image_tokens', label: 'of them image tokens', value: '0' };
const VIDEO_FIELDS: readonly QuoteField[] = [
  { name: 'seconds', label: 'Seconds', value: '5' },
  { name: 'resolution', label: 'Resolution', value: '720p', options: RESOLUTIONS },
  { name: 'ratio', label: 'Ratio', value: '16:9', options: RATIOS },
];
const USER: QuoteField = { name: 'user', label: 'For user', value: '' };

/** Only what the rates of the model bill. */
const fieldsOf = ({ prices }: ShownModel, style: GroupStyle | undefined): readonly QuoteField[] =>
  style === 'video'
    ? [...VIDEO_FIELDS, USER]
    : [
        ...TEXT_FIELDS,
        ...(prices && 'image_output' in prices ? [IMAGE_TOKENS] : []),
        ...(prices && 'per_image' in prices ? IMAGE_FIELDS : []),
        USER,
      ];

const TYPING_MS = 250;

export const Calculator = ({
  model,
  style,
}: {
  readonly model: ShownModel;
  readonly style: GroupStyle | undefined;
}) => {
  const fields = fieldsOf(model, style);
  const [values, setValues] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(fields.map(({ name, value }) => [name, value])),
  );
  const quote = useQuery({
    queryKey: ['models', 'quote', model.group, model.id, values],
    queryFn: async ({ signal }) => {
      await new Promise((resolve) => setTimeout(resolve, TYPING_MS));
      signal.throwIfAborted();
      return admin.quote({ group: model.group, model: model.id, ...values }, signal);
    },
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <Card title={texts.model.calculator} lead={texts.model.calculatorLead}>
      <div className="fields">
        <div className="field-row">
          {fields.map((field) => (
            <QuoteInput
              key={field.name}
              field={field}
              value={values[field.name] ?? ''}
              change={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
            />
          ))}
        </div>
        <div aria-live="polite" aria-busy={quote.isFetching}>
          {quote.isError && <ProblemNotice problem={quote.error} />}
          {quote.data && !quote.isError && (
            <>
              {quote.data.charge === null ? (
                <p className="muted">{quote.data.free ? texts.model.quoteFree : texts.model.unpriced}</p>
              ) : (
                <Sums pricing={quote.data} isOperator verb={quote.data.at_most ? 'at most' : 'charge'} />
              )}
              {quote.data.line !== model.id && <p className="muted small">{texts.model.otherLine(quote.data.line)}</p>}
            </>
          )}
        </div>
      </div>
    </Card>
  );
};

interface QuoteInputProps {
  readonly field: QuoteField;
  readonly value: string;
  readonly change: (value: string) => void;
}

const QuoteInput = ({ field: { label, options }, value, change }: QuoteInputProps) => {
  const id = useId();
  if (options) return <Choice label={label} value={value} options={options} onChange={change} />;
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        value={value}
        onChange={(event) => change(event.target.value.trim())}
        autoComplete="off"
        spellCheck={false}
      />
    </div>
  );
};
