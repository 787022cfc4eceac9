/** Prices of models as text and as form fields. */
import type { ShownRates } from '../../../src/schemas/index.ts';
import { countText } from '../format/count.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';

/** Rates in dollars per million tokens that most models have. */
export const TOKEN_RATES = ['input', 'cached_input', 'cache_write', 'output'] as const;

/** "input $1.25 · output $10 · above 200,000 tokens: input $6"; large tables are named only. */
export function ratesText(rates: ShownRates | null): string {
  return Object.entries(rates ?? {})
    .map(([name, rate]) => {
      if (name === 'steps' && Array.isArray(rate)) return rate.map(stepText).join(' · ');
      // A name and its rate stay on one line.
      return `${t(name.replaceAll('_', ' '))}\u00a0${rateText(rate)}`;
    })
    .join(' · ');
}

/** One rate, or a small table of them such as those by resolution. */
function rateText(rate: unknown): string {
  if (typeof rate === 'string') return `$${rate}`;
  const entries = typeof rate === 'object' && rate !== null ? Object.entries(rate) : [];
  if (entries.length === 0 || entries.length > MAX_ENTRIES || entries.some(([, one]) => typeof one !== 'string'))
    return '…';
  return entries.map(([name, one]) => `${name === '*' ? '' : `${name}\u00a0`}$${one}`).join(', ');
}

const MAX_ENTRIES = 6;

const stepText = ({ above, ...rates }: { readonly above: number }): string =>
  `${texts.model.above(countText(above))}${ratesText(rates)}`;

/** What the form of a price has no field for, as text that its area shows and reads. */
export function moreRates(rates: ShownRates | null): string {
  const more = Object.entries(rates ?? {}).filter(([name]) => !TOKEN_RATES.some((known) => known === name));
  return more.length === 0 ? '' : JSON.stringify(Object.fromEntries(more), null, 2);
}

export const rateOf = (rates: ShownRates | null, name: string): string | undefined => {
  const rate = rates?.[name];
  return typeof rate === 'string' ? rate : undefined;
};
