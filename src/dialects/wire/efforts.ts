/** Reasoning efforts: conversion from token budgets, and the nearest effort that a model supports. */
import { EFFORTS, type Effort } from '../hub/types.ts';

/** The thresholds on which the providers' own conversion tables agree. */
export const effortOfBudget = (tokens: number): Effort => (tokens < 4096 ? 'low' : tokens < 16_384 ? 'medium' : 'high');

/** Returns the highest supported effort up to the requested one, else the lowest. Returns `none` only if requested. */
export function nearestEffort(requested: Effort, supported: readonly string[]): Effort | undefined {
  const known = EFFORTS.filter((effort) => supported.includes(effort) && (effort !== 'none' || requested === 'none'));
  const limit = EFFORTS.indexOf(requested);
  return known.findLast((effort) => EFFORTS.indexOf(effort) <= limit) ?? known[0];
}
