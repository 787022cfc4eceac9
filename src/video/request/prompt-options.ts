/**
 * Options in the text of a prompt. What they ask for is held beside the parameters;
 * see `src/rules/video/prompt-options.ts`.
 */
import * as rules from '../../rules/index.ts';
import type { PromptOptions } from './task-request.ts';

/** `--rs 1080p`, `--rs=1080p`, `--dur15` and `-- dur 15`. */
const OPTION = /--([ \t]*)([a-z][a-z_]*)[\s=:"']*((?:(?!--)[^\s,;"'])*)/gi;

class Reading implements PromptOptions {
  readonly resolutions = new Set<rules.Resolution>();
  readonly ratios = new Set<rules.Ratio>();
  seconds = 0;
  isUnclear = false;
}

/** What the options of a model can ask for. */
interface Possible extends ReturnType<typeof rules.sizeWords> {
  readonly framesPerSecond: number;
  readonly longest: number;
}
const possibleOf = ({ sizes, framesPerSecond, parameters }: rules.VideoSheet): Possible => ({
  ...rules.sizeWords(sizes),
  framesPerSecond,
  longest: Math.max(rules.LONGEST_PROMPTED_S, parameters.duration.max),
});

/**
 * Undefined when no text has an option. Linear in the length of the texts, and the same size for any number of options.
 */
export function promptOptionsIn(texts: Iterable<string>, sheet: rules.VideoSheet): PromptOptions | undefined {
  const reading = new Reading();
  const possible = possibleOf(sheet);
  let isFound = false;
  for (const text of texts)
    for (const match of text.matchAll(OPTION)) isFound = readOption(reading, match, possible) || isFound;
  return isFound ? reading : undefined;
}

/** False for two hyphens of prose: an unknown word after another one or after a space, without a number behind it. */
function readOption(reading: Reading, match: RegExpExecArray, possible: Possible): boolean {
  const { input, index, 1: space, 2: name = '', 3: given = '' } = match;
  const value = given.toLowerCase();
  switch (rules.PROMPT_OPTIONS.get(name.toLowerCase().replaceAll('_', ''))) {
    case 'resolution':
      readWord(reading, reading.resolutions, possible.resolutions, value);
      return true;
    case 'ratio':
      readWord(reading, reading.ratios, possible.ratios, value);
      return true;
    case 'duration':
      readSeconds(reading, Number.parseInt(value, 10), possible);
      return true;
    case 'frames':
      readSeconds(reading, Math.ceil(Number.parseInt(value, 10) / possible.framesPerSecond), possible);
      return true;
    case 'nothing':
      return true;
    case undefined: {
      const isAfterWord = space !== '' || /[\p{L}\p{N}\p{P}]/u.test(input[index - 1] ?? '');
      if (isAfterWord && !/^-?\d/.test(value)) return false;
      reading.isUnclear = true;
      return true;
    }
  }
}

function readWord<T extends string>(reading: Reading, found: Set<T>, words: readonly T[], value: string): void {
  const word = words.find((one) => one === value);
  if (word === undefined) reading.isUnclear = true;
  else found.add(word);
}

function readSeconds(reading: Reading, seconds: number, { longest }: Possible): void {
  if (seconds > 0) reading.seconds = Math.max(reading.seconds, Math.min(seconds, longest));
  else reading.isUnclear = true;
}
