/** A run over a range of generated messages, or over the corpus, without a network. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkAll, type Delivery, type Verdict } from './check.ts';
import { type CorpusEntry, textOf } from './corpus.ts';
import { Choices, generate } from './generate.ts';
import type { Judge } from './judge.ts';
import type { Side } from './message.ts';
import { shrink } from './shrink.ts';

export interface Range {
  readonly side: Side;
  readonly seed: number;
  /** Number of the first message. */
  readonly first: number;
  readonly count: number;
}

export interface Failure {
  readonly side: Side;
  /** Number of the message, or the description of its corpus entry. */
  readonly of: number | string;
  readonly failure: string;
  /** The shortest message found that fails. */
  readonly text: string;
}

export interface Figures {
  messages: number;
  accepted: number;
  readonly differences: Record<string, number>;
  readonly failures: Failure[];
}

const BATCH = 64;
const MAX_CUTS = 5;
/** Messages that are read byte by byte, with their cost counted. */
const MEASURED_ONE_IN = 16;
/** Shrinking takes thousands of reads, and one cause fails many messages. */
const MAX_FAILURES = 5;

export const newFigures = (): Figures => ({ messages: 0, accepted: 0, differences: {}, failures: [] });

/** The message with number `n` and how it is delivered; depends on nothing else. */
export function messageOf(side: Side, [seed, n]: readonly [number, number], corpus: readonly CorpusEntry[]): Delivery {
  const choices = new Choices(seed, n);
  const text = generate(side, choices, corpus);
  return { text, cuts: cutsOf(text, choices), isMeasured: choices.isOneIn(MEASURED_ONE_IN) };
}

const cutsOf = (text: string, choices: Choices): number[] =>
  Array.from({ length: 1 + choices.below(MAX_CUTS) }, () => choices.below(text.length + 1));

/** Calls `onProgress` after each batch. Stops at the fifth failure. */
export async function runRange(
  { side, seed, first, count }: Range,
  [corpus, judge]: readonly [readonly CorpusEntry[], Judge],
  onProgress: (figures: Figures) => void,
): Promise<Figures> {
  const figures = newFigures();
  for (let at = first; at < first + count && figures.failures.length < MAX_FAILURES; at += BATCH) {
    const size = Math.min(BATCH, first + count - at);
    const numbers = Array.from({ length: size }, (_, n) => at + n);
    const deliveries = numbers.map((n) => messageOf(side, [seed, n], corpus));
    const verdicts = await checkAll(side, deliveries, judge);
    await record(figures, { side, deliveries, verdicts, names: numbers }, judge);
    onProgress(figures);
    // Lets the judge's streams close, which happens in a later turn.
    await nextTurn();
  }
  return figures;
}

/** Every entry, read in one part, in a few parts and byte by byte. Also checks what the entry expects. */
export async function runCorpus(corpus: readonly CorpusEntry[], seed: number, judge: Judge): Promise<Figures> {
  const figures = newFigures();
  for (const side of ['requests', 'responses'] as const) {
    const entries = corpus.filter((entry) => entry.side === side);
    const choices = new Choices(seed, 0);
    const deliveries = entries.map((entry) => {
      const text = textOf(entry);
      return { text, cuts: cutsOf(text, choices), isMeasured: true };
    });
    const verdicts = await checkAll(side, deliveries, judge);
    await record(figures, { side, deliveries, verdicts, names: entries.map(({ about }) => about) }, judge);
    await nextTurn();
  }
  return figures;
}

interface Batch {
  readonly side: Side;
  readonly deliveries: readonly Delivery[];
  readonly verdicts: readonly Verdict[];
  readonly names: readonly (number | string)[];
}

async function record(figures: Figures, { side, deliveries, verdicts, names }: Batch, judge: Judge): Promise<void> {
  for (const [n, { isAccepted, failure, differences }] of verdicts.entries()) {
    figures.messages += 1;
    if (isAccepted) figures.accepted += 1;
    for (const name of differences) figures.differences[name] = (figures.differences[name] ?? 0) + 1;
    const delivery = deliveries[n];
    if (failure === undefined || !delivery || figures.failures.length >= MAX_FAILURES) continue;
    figures.failures.push(await shortest(side, names[n] ?? n, delivery, judge));
  }
}

async function shortest(side: Side, of: number | string, delivery: Delivery, judge: Judge): Promise<Failure> {
  const failureOf = async (text: string): Promise<string | undefined> => {
    const cuts = delivery.cuts.map((cut) => cut % (text.length + 1));
    const [verdict] = await checkAll(side, [{ text, cuts, isMeasured: delivery.isMeasured }], judge);
    return verdict?.failure;
  };
  const text = await shrink(delivery.text, async (candidate) => (await failureOf(candidate)) !== undefined);
  return { side, of, failure: (await failureOf(text)) ?? 'it fails only together with others', text };
}
