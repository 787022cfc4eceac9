/** The corpus: known attacks and messages that were once read wrongly, as data in `corpus.json`. */
import { readFileSync } from 'node:fs';
import type { Side } from './message.ts';

/** Text, or text that is repeated. One character per byte. */
type Part = string | readonly [text: string, times: number];

export interface CorpusEntry {
  readonly side: Side;
  readonly about: string;
  readonly parts: readonly Part[];
  /** Complete messages that are read before anything is rejected. */
  readonly read: number;
  readonly isRejected: boolean;
  /** Short enough to be mutated many times. */
  readonly isSmall: boolean;
}

const SMALL_CHARS = 2_000;

export function loadCorpus(): CorpusEntry[] {
  const text = readFileSync(new URL('corpus.json', import.meta.url), 'utf8');
  const entries = JSON.parse(text) as Omit<CorpusEntry, 'isSmall'>[];
  return entries.map((entry) => ({ ...entry, isSmall: textOf(entry).length <= SMALL_CHARS }));
}

export const textOf = ({ parts }: Pick<CorpusEntry, 'parts'>): string =>
  parts.map((part) => (typeof part === 'string' ? part : part[0].repeat(part[1]))).join('');
