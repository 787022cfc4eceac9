/** A choice with a label, for forms that react to it at once. */
import { useId } from 'react';
import { t } from '../language.ts';

export type ChoiceOption = string | readonly [value: string, label: string];

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly ChoiceOption[];
  readonly onChange: (value: string) => void;
}

export const Choice = ({ label, value, options, onChange }: ChoiceProps) => {
  const id = useId();
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {t(label)}
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((option) => {
          const [own, shown] = typeof option === 'string' ? [option, option] : option;
          return (
            <option key={own} value={own}>
              {shown}
            </option>
          );
        })}
      </select>
    </div>
  );
};
