/** What a call of a model would be charged. The server computes it, by the code that charges calls. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { RATIO_WORDS, RESOLUTION_WORDS } from '../../../src/rules/video/sizes.ts';
import type { GroupStyle, ShownModel } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Choice, type ChoiceOption } from '../parts/choice.tsx';
import { ProblemNotice } from '../parts/form.tsx';
import { Card } from '../parts/page.tsx';
import { Sums } from '../parts/sums.tsx';
import { texts } from '../texts.ts';

interface QuoteField {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly options?: readonly ChoiceOption[];
  /** Shown for a model with a price for one of these. */
  readonly of?: readonly string[];
}

const TEXT_FIELDS: readonly QuoteField[] = [
  { name: 'input_tokens', label: 'Input tokens', value: '10000' },
  { name: 'cached_input_tokens', label: 'of them cached', value: '0' },
  { name: 'cached_audio_tokens', label: 'cached audio', value: '0', of: ['cached_audio_input'] },
  { name: 'cache_write_tokens', label: 'of them written to the cache', value: '0', of: ['cache_write'] },
  { name: 'cache_write_1h_tokens', label: 'kept for an hour', value: '0', of: ['cache_write_1h'] },
  { name: 'audio_input_tokens', label: 'of them audio', value: '0', of: ['audio_input'] },
  { name: 'audio_seconds', label: 'Seconds of audio', value: '0', of: ['per_audio_hour'] },
  { name: 'output_tokens', label: 'Output tokens', value: '1000' },
  { name: 'reasoning_tokens', label: 'of them reasoning', value: '0', of: ['reasoning'] },
  { name: 'audio_output_tokens', label: 'of them audio', value: '0', of: ['audio_output'] },
  { name: 'image_tokens', label: 'of them image tokens', value: '0', of: ['image_output'] },
  { name: 'images', label: 'Images', value: '1', of: ['per_image'] },
  { name: 'image_kind', label: 'Size and quality', value: '1024x1024/medium', of: ['per_image'] },
  { name: 'searches', label: 'Searches', value: '0', of: ['per_search'] },
  { name: 'file_searches', label: 'File searches', value: '0', of: ['per_file_search'] },
  { name: 'fetches', label: 'Fetched pages', value: '0', of: ['per_fetch'] },
];
const VIDEO_FIELDS: readonly QuoteField[] = [
  { name: 'seconds', label: 'Seconds', value: '5' },
  { name: 'resolution', label: 'Resolution', value: '720p', options: ['', ...RESOLUTION_WORDS] },
  { name: 'ratio', label: 'Ratio', value: '16:9', options: ['', ...RATIO_WORDS] },
];
const USER: QuoteField = { name: 'user', label: 'For user', value: '' };

/** Only what the rates of the model bill. */
const fieldsOf = ({ prices }: ShownModel, style: GroupStyle | undefined): readonly QuoteField[] => {
  if (style === 'video') return [...VIDEO_FIELDS, USER];
  const billed = TEXT_FIELDS.filter(({ of }) => of === undefined || of.some((rate) => rate in (prices ?? {})));
  const tiers = Object.keys(prices?.tiers ?? {});
  const tier = { name: 'tier', label: 'Tier', value: '', options: [['', t('standard')], ...tiers] as const };
  return [...billed, ...(tiers.length === 0 ? [] : [tier]), USER];
};

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
                <Sums pricing={quote.data} isOperator verb={t(quote.data.at_most ? 'at most' : 'charge')} />
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
        {t(label)}
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
