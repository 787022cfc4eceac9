/** The outcomes of the fields in each conversion, summed up for `docs/fidelity.md`. */
import { type Dialect, TOOL_FORMS } from '../../src/rules/index.ts';
import { DIALECT_PAIRS, type DialectPair } from './dialect-pairs.ts';
import { type Exception, exceptionFor, IN_REPLIES, INTENDED } from './field-exceptions.ts';
import { type FieldOutcome, type Outcome, observeFields, observeReplies, observeSettings } from './field-outcomes.ts';

const OFFERED = DIALECT_PAIRS.filter(({ isOffered, client }) => isOffered && client !== 'generate');

// ---------------------------------------------------------------- requests

/** Rows of name, outcomes, dropped parts and rejected parts. */
export function summarizeFields(pair: DialectPair): string[][] {
  const byField = Map.groupBy(observeFields(pair), topOf);
  const restricted = Map.groupBy(
    observeSettings(pair).filter(({ field }) => !field.path.includes('.')),
    topOf,
  );
  return [...byField]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, outcomes]) => [
      `\`${name}\``,
      summaryOf(outcomes, restricted.get(name) ?? [], pair) + (BEYOND_CODECS[name] ?? ''),
      partsOf(name, outcomes, 'dropped'),
      partsOf(name, outcomes, 'rejected'),
    ]);
}

const topOf = ({ field }: FieldOutcome): string => field.path.split('.')[0] ?? '';

/** What the gateway does before it converts. */
const BEYOND_CODECS: Readonly<Record<string, string>> = { service_tier: '; rejected if the tier has no price' };

const SHOWN: readonly Outcome[] = ['kept', 'changed', 'carried', 'dropped', 'rejected'];

/** The outcomes of the field itself, for both models; those of its parts if it is only a frame for them. */
function summaryOf(outcomes: readonly FieldOutcome[], restricted: readonly FieldOutcome[], pair: DialectPair): string {
  const own = outcomes.filter(({ field }) => !field.path.includes('.'));
  const seen = new Set([...(own.length > 0 ? own : outcomes), ...restricted].map(outcomeOf));
  const shown = SHOWN.filter((outcome) => seen.has(outcome));
  if (shown.length > 0) return shown.join('; ');
  return own.map((one) => exceptionFor(INTENDED, one.field.label, pair.name)?.why).find(Boolean) ?? '';
}

/** A lost field with a name is rejected, but under the name of another field. */
const outcomeOf = ({ outcome, name }: FieldOutcome): Outcome =>
  outcome === 'lost' && name !== undefined ? 'rejected' : outcome;

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
  return listed(parts);
}

const listed = (names: Iterable<string>): string =>
  [...names]
    .sort()
    .map((name) => `\`${name}\``)
    .join(', ');

/** `tools(file_search)` is `file_search`, in all its versions. */
const typesIn = (label: string): string => /\(([^)]*)\)$/.exec(label)?.[1]?.replace(/_\d{8}$/, '') ?? '';

// ---------------------------------------------------------------- pairs

/** Rows of a pair, its grade, and the share of fields of requests and of members of replies that arrive, are named, or are refused. */
export const summarizePairs = (): string[][] =>
  OFFERED.map((pair) => {
    const fields = summarizeFields(pair).map(([, outcome = '']) => fateOf(outcome));
    const client = clientsOf(pair.upstream as Dialect).indexOf(pair.client) + 1;
    const replies = pair.upstream === 'converse' ? [] : summarizeReplies(pair.upstream);
    const members = replies.map((row) => row[client] ?? '').filter((cell) => cell !== '');
    const isShown = members.filter((cell) => fateOf(cell) === 'arrives').length;
    return [
      `${pair.client} client, ${pair.upstream} provider`,
      gradeOf(shareOf(fields, 'arrives')),
      ...(['arrives', 'dropped', 'rejected'] as const).map((fate) => percent(shareOf(fields, fate))),
      members.length === 0 ? '' : percent(isShown / members.length),
    ];
  });

/** A field some of whose values arrive; `dropped` and `rejected` are fields of which nothing does. */
function fateOf(outcome: string): 'arrives' | 'dropped' | 'rejected' {
  const arrives = /kept|changed|carried/.test(outcome) || !/dropped|rejected/.test(outcome);
  return arrives ? 'arrives' : outcome.includes('dropped') ? 'dropped' : 'rejected';
}
const shareOf = (fates: readonly string[], fate: string): number =>
  fates.filter((one) => one === fate).length / fates.length;
const percent = (share: number): string => `${Math.round(100 * share)} %`;
const gradeOf = (share: number): string => (share >= 0.75 ? 'A' : share >= 0.6 ? 'B' : share >= 0.5 ? 'C' : 'D');

export const TOOL_DIALECTS = ['messages', 'responses', 'generate', 'chat', 'converse'] as const;

export const summarizeTools = (): string[][] =>
  Object.values(TOOL_FORMS).map(({ name, forms, otherwise, why }) => [
    `\`${name}\``,
    ...TOOL_DIALECTS.map((dialect) => (forms[dialect] === undefined ? '' : `\`${forms[dialect]}\``)),
    otherwise,
    why,
  ]);

// ---------------------------------------------------------------- replies

/** Clients that a provider's replies are converted for. */
export const clientsOf = (upstream: Dialect): readonly Dialect[] =>
  OFFERED.filter((pair) => pair.upstream === upstream).map(({ client }) => client);

/** Rows of a member and its outcomes for each client. */
export function summarizeReplies(upstream: Dialect): string[][] {
  const pairs = OFFERED.filter((pair) => pair.upstream === upstream);
  const rows = new Map<string, Set<Outcome>[]>();
  for (const [n, pair] of pairs.entries())
    for (const { field, outcome } of observeReplies(pair)) {
      const row = rows.get(memberOf(field.label)) ?? pairs.map(() => new Set<Outcome>());
      rows.set(memberOf(field.label), row);
      row[n]?.add(outcome);
    }
  return [...rows]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([member, cells]) => [`\`${member}\``, ...cells.map(cellOf)]);
}

const cellOf = (outcomes: ReadonlySet<Outcome>): string =>
  [...SHOWN.filter((outcome) => outcomes.has(outcome)), ...(outcomes.has('lost') ? ['left out'] : [])].join('; ');

/** Blocks, items and parts by their type, other members by their name. */
const memberOf = (label: string): string =>
  (
    MEMBERS.map((pattern) => pattern.exec(label.replace(/\((?:ContentBlock|BetaBlock)\)/, ''))?.[0]).find(Boolean) ??
    label
  ).replace(/\((\w+)\)/, ': $1');
const MEMBERS = [
  /^(?:content|output)\(\w+\)/,
  /^candidates\.content\.parts\.\w+/,
  /^choices\.message\.\w+/,
  /^(?:candidates|choices)\.\w+/,
  /^\w+/,
];

// ---------------------------------------------------------------- exceptions

/** With a model that does not reason. */
const observeAllModels = (pair: DialectPair): readonly FieldOutcome[] => [
  ...observeFields(pair),
  ...observeSettings(pair, 'gpt-4o'),
];

/** Rows of a reason, the fields that it excuses and their conversions. */
export function summarizeExceptions(subject: 'request' | 'reply'): string[][] {
  const [rows, observe] = subject === 'request' ? [INTENDED, observeAllModels] : [IN_REPLIES, observeReplies];
  const found = new Map<Exception, { fields: Set<string>; pairs: Set<string> }>();
  for (const pair of OFFERED)
    for (const { field, outcome } of observe(pair)) {
      const row = outcome === 'lost' ? exceptionFor(rows, field.label, pair.name) : undefined;
      if (!row) continue;
      const { fields, pairs } = found.get(row) ?? { fields: new Set(), pairs: new Set() };
      found.set(row, { fields: fields.add(field.path.split('.').slice(0, 3).join('.')), pairs: pairs.add(pair.name) });
    }
  return rows.map((row) => {
    const { fields = new Set<string>(), pairs = new Set<string>() } = found.get(row) ?? {};
    return [row.why, listed(fields), pairs.size === OFFERED.length ? 'all' : [...pairs].join('<br>')];
  });
}
