/**
 * Lines whose calls reserve for what nobody says that their models cannot do: a stated capability would reserve less.
 */
import { formatNanos, type Nanos } from '../../core/index.ts';
import { maxCostOf, parseRates, type RequestFacts } from '../../ledger/index.ts';
import * as rules from '../../rules/index.ts';
import { abilitiesFor, type ModelLine, priceAt } from '../catalog.ts';

/** Of a typical call, input and output. */
const TYPICAL_TOKENS = 1_000;
const ONE = [1_000_000n];

/** A sentence for the operator; undefined for a line of which everything is known. */
export function dearLine(line: ModelLine, style: rules.Style, now: number): string | undefined {
  const price = priceAt(line, now);
  const upstream = line.upstream ?? line.pattern;
  if (!price || rules.isEmbeddingModel(upstream)) return undefined;
  const rates = parseRates(price.rates);
  const can = abilitiesFor({ name: line.pattern, upstream, line }, rates);
  const isKnown = rules.isKnownFamily(upstream);
  const open = rules.ABILITY_NAMES.filter(
    (name) =>
      line.overrides[name] === undefined &&
      can[name] !== rules.TEXT_ONLY[name] &&
      (!isKnown || line.learned.abilities[name] !== undefined),
  );
  if (open.length === 0) return undefined;
  const costOf = (one: rules.Abilities): Nanos => maxCostOf(typicalCall(one, line, style), rates, ONE);
  const stated = { ...can, ...Object.fromEntries(open.map((name) => [name, rules.TEXT_ONLY[name]])) };
  const [most, least] = [costOf(can), costOf(stated)];
  if (most <= least) return undefined;
  const members = open.map((name) => `${name}: ${rules.TEXT_ONLY[name]}`).join(', ');
  const because = open.some((name) => line.learned.abilities[name] !== undefined)
    ? 'its replies have shown what it can do'
    : 'no known family has this name, and its prices allow for more than text';
  return (
    `a call of ${TYPICAL_TOKENS} tokens reserves ${formatNanos(most)} dollars, because ${because}; ` +
    `if it is not so, state capabilities: { ${members} }, which reserves ${formatNanos(least)}`
  );
}

function typicalCall(can: rules.Abilities, line: ModelLine, style: rules.Style): RequestFacts {
  const context = line.context ?? rules.DEFAULT_CONTEXT[style];
  const isReading = can.searches > 0 || can.pages || can.code;
  return {
    maxInput: (isReading ? context : TYPICAL_TOKENS) + can.otherModels * context,
    maxOutput: TYPICAL_TOKENS,
    maxDrawn: can.pictures * rules.PICTURE_TOKENS,
    maxSearches: can.searches + (can.pages ? rules.DEFAULT_TOOL_USES : 0),
    readsAudio: false,
    writesAudio: can.sound,
    writesVideo: can.video,
    ...(can.pictures > 0 && { images: { 'auto/auto': can.pictures } }),
  };
}
