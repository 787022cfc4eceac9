/** One line of `dragoman doctor`. */
import { errorText } from '../../core/index.ts';

export interface Finding {
  readonly about: string;
  readonly state: 'good' | 'bad' | 'note';
  /** What was found, and the next step for a problem. */
  readonly text: string;
}

const inState =
  (state: Finding['state']) =>
  (about: string, text: string): Finding => ({ about, state, text });
export const good = inState('good');
export const bad = inState('bad');
export const note = inState('note');

export const judged = (about: string, isBad: boolean, text: string, advice: string): Finding =>
  isBad ? bad(about, text + advice) : good(about, text);

export const firstLineOf = (error: unknown): string => errorText(error).split('\n')[0] ?? '';

/** In a unit that a person reads at a glance. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}
