/** Reasoning efforts: conversion from token budgets, and the nearest effort that a model supports. */
import { fail } from '../../core/index.ts';
import { ANY_EFFORT, EFFORT_WORD, EFFORTS, type Effort, isKnownEffort } from '../../rules/index.ts';
import type { HubReasoning } from '../hub/types.ts';
import { type Reader, wrongValue } from './read.ts';

/** Also words that no table knows: a newer model may. */
export const readEffort: Reader<string> = (value, path) =>
  typeof value === 'string' && EFFORT_WORD.test(value)
    ? value
    : wrongValue(path, `expected one of ${EFFORTS.join(', ')}.`);

/** The thresholds on which the providers' own conversion tables agree. */
export function effortOfBudget(tokens: number): Effort {
  if (tokens < 4096) return 'low';
  return tokens < 16_384 ? 'medium' : 'high';
}

/** The effort that a request asks for, with budgets as efforts; undefined where it asks for none. */
export function effortOf({ mode, effort, budget = 0 }: HubReasoning): string | undefined {
  if (mode === 'off') return 'none';
  if (effort) return effort;
  if (mode === 'between_tools') return 'low';
  return mode === 'budget' ? effortOfBudget(budget) : undefined;
}

/** Returns the highest supported effort up to the requested one, else the lowest. Returns `none` only if requested. */
export function nearestEffort(requested: string, supported: readonly string[]): string | undefined {
  if (!isKnownEffort(requested)) return unknownEffort(requested, supported);
  const known = EFFORTS.filter((effort) => supported.includes(effort) && (effort !== 'none' || requested === 'none'));
  const limit = EFFORTS.indexOf(requested);
  return known.findLast((effort) => EFFORTS.indexOf(effort) <= limit) ?? known[0];
}

/** Passes to a model whose provider may know it. `reasoning` is the field of the hub, as in `errors/rejection.ts`. */
function unknownEffort(word: string, supported: readonly string[]): string | undefined {
  if (supported.length === 0) return undefined;
  if (supported.includes(word) || supported.includes(ANY_EFFORT)) return word;
  throw fail('invalid_value', `reasoning: expected one of ${supported.join(', ')}, not '${word}'.`, {
    param: 'reasoning',
  });
}
