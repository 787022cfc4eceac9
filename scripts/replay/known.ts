/** Differences that are meant, by rule: what the other wire format cannot carry, and what the gateway states it does. */
import type { Difference, Replay } from './outcome.ts';

export interface KnownRow {
  readonly rule: string;
  readonly why: string;
  readonly applies: (difference: Difference, replay: Replay) => boolean;
}

export const KNOWN: readonly KnownRow[] = [];

export const knownRule = (difference: Difference, replay: Replay): KnownRow | undefined =>
  KNOWN.find(({ applies }) => applies(difference, replay));
