/** The editor of functions: each is JSON, and says at once what is wrong with it. */
import { useId } from 'react';
import { t } from '../../language.ts';
import type { FunctionTool } from './conversation.ts';
import { playTexts } from './texts.ts';

const SAMPLE: FunctionTool = {
  name: 'get_weather',
  description: playTexts.sampleTool,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};

/** The function that a text describes, or why it describes none. */
export function toolOf(text: string): FunctionTool | string {
  try {
    const { name, description, parameters } = (JSON.parse(text) ?? {}) as Partial<FunctionTool>;
    if (typeof name !== 'string' || name === '') return playTexts.toolName;
    return {
      name,
      ...(typeof description === 'string' && { description }),
      ...(typeof parameters === 'object' && parameters !== null && { parameters }),
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

interface ToolsProps {
  readonly texts: readonly string[];
  readonly onChange: (texts: readonly string[]) => void;
}

export const Tools = ({ texts, onChange }: ToolsProps) => (
  <details className="fold">
    <summary>
      {t('Functions')}
      {texts.length > 0 && ` (${texts.length})`}
    </summary>
    <div className="fields">
      {texts.map((text, n) => (
        <Tool
          // biome-ignore lint/suspicious/noArrayIndexKey: a function has no name while it is typed
          key={n}
          number={n + 1}
          text={text}
          onChange={(next) => onChange(texts.map((one, at) => (at === n ? next : one)))}
          remove={() => onChange(texts.filter((_one, at) => at !== n))}
        />
      ))}
      <div className="row">
        <button
          type="button"
          onClick={() => onChange([...texts, texts.length === 0 ? JSON.stringify(SAMPLE, null, 2) : EMPTY])}
        >
          {t('Add function')}
        </button>
      </div>
    </div>
  </details>
);

const EMPTY = '{\n  "name": "",\n  "description": "",\n  "parameters": { "type": "object", "properties": {} }\n}';

interface ToolProps {
  readonly number: number;
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly remove: () => void;
}

const Tool = ({ number, text, onChange, remove }: ToolProps) => {
  const id = useId();
  const tool = toolOf(text);
  const isBad = typeof tool === 'string';
  return (
    <div className="field">
      <div className="row spread">
        <label className="label" htmlFor={id}>
          {`${t('Function')} ${number}`}
        </label>
        <button
          type="button"
          className="quiet"
          aria-label={playTexts.remove(`${t('Function')} ${number}`)}
          onClick={remove}
        >
          ✕
        </button>
      </div>
      <textarea
        id={id}
        className="mono"
        rows={Math.min(14, text.split('\n').length + 1)}
        value={text}
        spellCheck={false}
        aria-invalid={isBad}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.target.value)}
      />
      <span id={`${id}-note`} className={isBad ? 'small error' : 'small muted'}>
        {isBad ? playTexts.toolFault(tool) : playTexts.toolHint}
      </span>
    </div>
  );
};
