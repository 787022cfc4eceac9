/** The outcomes of the fields in one conversion, summed up by top-level field for `docs/fidelity.md`. */
import type { DialectPair } from './dialect-pairs.ts';
import { INTENDED } from './field-exceptions.ts';
import { type FieldOutcome, type Outcome, observeFields } from './field-outcomes.ts';

/** Rows of name, outcomes, dropped parts and rejected parts. */
export function summarizeFields(pair: DialectPair): string[][] {
  const byField = Map.groupBy(observeFields(pair), ({ field }) => field.path.split('.')[0] ?? '');
  return [...byField]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, outcomes]) => [
      `\`${name}\``,
      summaryOf(outcomes, pair),
      partsOf(name, outcomes, 'dropped'),
      partsOf(name, outcomes, 'rejected'),
    ]);
}

const SHOWN: readonly Outcome[] = ['kept', 'changed', 'dropped', 'rejected'];

/** The outcomes of the field itself; those of its parts if it is only a frame for them. */
function summaryOf(outcomes: readonly FieldOutcome[], pair: DialectPair): string {
  const own = outcomes.filter(({ field }) => !field.path.includes('.'));
  const seen = new Set((own.length > 0 ? own : outcomes).map(outcomeOf));
  const shown = SHOWN.filter((outcome) => seen.has(outcome));
  if (shown.length > 0) return shown.join('; ');
  return own.map((one) => reasonOf(one, pair)).find((why) => why !== undefined) ?? '';
}

/** A lost field with a name is rejected, but under the name of another field. */
const outcomeOf = ({ outcome, name }: FieldOutcome): Outcome =>
  outcome === 'lost' && name !== undefined ? 'rejected' : outcome;

const reasonOf = ({ field }: FieldOutcome, pair: DialectPair): string | undefined =>
  INTENDED.find(({ fields, pairs }) => fields.test(field.label) && pairs?.test(pair.name) !== false)?.why;

/** The names that the gateway reports, as far as they are not the field itself; members of a union by their type. */
function partsOf(field: string, outcomes: readonly FieldOutcome[], outcome: Outcome): string {
  const parts = new Set<string>();
  for (const { field: one, outcome: seen, name } of outcomes) {
    if (seen !== outcome || name === undefined) continue;
    // Blocks inside blocks have the same members.
    if (name !== field) parts.add(name.replace(`${field}.`, '').replace(/^(?:content\.)+/, ''));
    else if (one.path === 'tools') parts.add(typesIn(one.label));
  }
  parts.delete('');
  return [...parts]
    .sort()
    .map((part) => `\`${part}\``)
    .join(', ');
}

/** `tools(file_search)` is `file_search`, in all its versions. */
const typesIn = (label: string): string => /\(([^)]*)\)$/.exec(label)?.[1]?.replace(/_\d{8}$/, '') ?? '';
