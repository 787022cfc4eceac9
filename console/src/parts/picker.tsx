/** A field that finds objects by a part of their name. It holds the id: of what was chosen, or the text as typed. */
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import type { Hit } from '../../../src/schemas/index.ts';
import { texts } from '../texts.ts';

/** Objects of one kind, from the API. `name` tells it from other finders. */
export interface Finder {
  readonly name: string;
  readonly find: (text: string, signal: AbortSignal) => Promise<readonly Hit[]>;
}

interface PickerProps {
  readonly id: string;
  readonly name?: string;
  readonly finder: Finder;
  readonly value: string;
  /** What is typed, and whether it was chosen from the list. */
  readonly onChange?: (value: string, isChosen: boolean) => void;
  readonly isRequired?: boolean | undefined;
  readonly placeholder?: string | undefined;
  readonly describedBy?: string;
  readonly isInvalid?: boolean;
}

const PAUSE_MS = 150;

/** The text, once typing has paused. */
export function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}

/** What a key moves in a list of hits. */
export const ARROW_STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

export const Picker = (props: PickerProps) => {
  const { id, name, finder, value, onChange, isRequired, placeholder, describedBy, isInvalid } = props;
  const listId = useId();
  const [text, setText] = useState(value);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  useEffect(() => setText(value), [value]);
  const paused = usePaused(text);
  const { data: hits = [], isFetching } = useQuery({
    queryKey: ['search', finder.name, paused],
    queryFn: ({ signal }) => finder.find(paused, signal),
    enabled: isOpen,
    placeholderData: (before) => before,
  });
  const take = (next: string, isChosen: boolean): void => {
    setText(next);
    setOpen(!isChosen);
    setActive(-1);
    onChange?.(next, isChosen);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = ARROW_STEPS[event.key] ?? 0;
    const hit = hits[active];
    if (step !== 0) {
      event.preventDefault();
      setOpen(true);
      setActive((before) => Math.min(Math.max(before + step, 0), hits.length - 1));
    } else if (event.key === 'Enter' && isOpen && hit) {
      event.preventDefault();
      take(hit.id, true);
    } else if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  return (
    <div className="picker">
      <input
        id={id}
        name={name}
        value={text}
        required={isRequired}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-activedescendant={isOpen && hits[active] ? `${listId}-${active}` : undefined}
        aria-describedby={describedBy}
        aria-invalid={isInvalid}
        onChange={(event) => take(event.target.value, false)}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKey}
      />
      <div id={listId} className="picker-list" role="listbox" aria-label={texts.picker.matches} hidden={!isOpen}>
        {hits.map((hit, n) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus and names the active option
          <div
            key={`${hit.kind}${hit.group}${hit.id}`}
            id={`${listId}-${n}`}
            role="option"
            aria-selected={n === active}
            onPointerEnter={() => setActive(n)}
            // Before the field loses the focus.
            onPointerDown={(event) => {
              event.preventDefault();
              take(hit.id, true);
            }}
          >
            <span>{hit.title}</span>
            <span className="muted">{hit.detail}</span>
          </div>
        ))}
        {hits.length === 0 && !isFetching && <p className="muted">{texts.picker.none}</p>}
      </div>
    </div>
  );
};
