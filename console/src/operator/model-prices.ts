/** Prices of models as text and as form fields. */
import type { ShownRates } from '../../../src/objects/index.ts';

/** Rates in dollars per million tokens that most models have. */
export const TOKEN_RATES = ['input', 'cached_input', 'cache_write', 'output'] as const;

/** "input 1.25 · output 10"; nested tables are named only. */
export function ratesText(rates: ShownRates | null): string {
  if (!rates) return '';
  return Object.entries(rates)
    .map(([name, rate]) => `${name.replaceAll('_', ' ')} ${typeof rate === 'string' ? `$${rate}` : '…'}`)
    .join(' · ');
}

export const rateOf = (rates: ShownRates | null, name: string): string | undefined => {
  const rate = rates?.[name];
  return typeof rate === 'string' ? rate : undefined;
};
