/** How times in lists are shown: since when, in UTC, or in the zone of the browser. One choice for all pages. */
import { useSyncExternalStore } from 'react';
import { TIME_MODES, type TimeMode } from '../format/time.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { readStored, writeStored } from './stored.ts';

const stored = readStored<string>('times', 'ago');
let current: TimeMode = TIME_MODES.find((mode) => mode === stored) ?? 'ago';
const listeners = new Set<() => void>();

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

function choose(mode: TimeMode): void {
  current = mode;
  writeStored('times', mode);
  for (const listener of listeners) listener();
}

export const useTimeMode = (): TimeMode => useSyncExternalStore(subscribe, () => current);

const LABELS: Readonly<Record<TimeMode, string>> = { ago: 'Ago', utc: 'UTC', local: 'Local' };

export const TimeSwitch = () => {
  const mode = useTimeMode();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would bring its own frame
    <span className="segments small-segments" role="group" aria-label={texts.table.times}>
      {TIME_MODES.map((one) => (
        <button key={one} type="button" aria-pressed={one === mode} onClick={() => choose(one)}>
          {t(LABELS[one])}
        </button>
      ))}
    </span>
  );
};
