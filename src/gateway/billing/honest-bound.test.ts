/**
 * A law: whatever a line says and a request asks, a reply within what its model can do costs at most the reservation;
 * what a reply reports beyond that is learned, and reserved for from then on.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { abilitiesFor, type Model, type ModelLine } from '../../catalog/index.ts';
import { costOf, type MeteredUsage, parseRates } from '../../ledger/index.ts';
import * as rules from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { quoteCall } from './admission.ts';
import type { CallFacts } from './call-facts.ts';
import { exceededBy } from './exceeded.ts';

const RUNS = { numRuns: 2_000, seed: 7 };
const CONTEXT = 100_000;
const CALLER = {
  group: { style: 'generate-content', multiplierPpm: 1_000_000n, unknownMembers: 'bound' },
  key: { userMultiplierPpm: 1_000_000n },
} as unknown as Caller;

const amount = fc.integer({ min: 1, max: 100_000 }).map((cents) => (cents / 1_000).toFixed(3));
const piece = amount.map((each) => ({ '*': each }));
const names = ['reasoning', 'audio_output', 'image_output', 'video_output', 'citation', 'per_search', 'per_fetch'];
const tier = fc.integer({ min: 1, max: 9 }).map((times) => ({ multiplier: String(times) }));
const ratesOf = fc.record(
  {
    input: amount,
    output: amount,
    ...Object.fromEntries(names.map((name) => [name, amount])),
    per_image: piece,
    tiers: fc.record({ priority: tier, flex: tier }, { requiredKeys: [] }),
  },
  { requiredKeys: ['input', 'output'] },
);
const upstream = fc.constantFrom(
  ...[
    'gpt-5',
    'claude-opus-5',
    'gemini-2.5-flash',
    'gemini-2.5-flash-image',
    'gpt-4o-audio-preview',
    'name:online:nitro',
  ],
  ...['sonar-deep-research', 'groq/compound', 'gpt-4o-search-preview', 'house-blend', 'atelier'],
);
const request = fc.record(
  {
    bodyBytes: fc.integer({ min: 10, max: 5_000 }),
    maxOutput: fc.integer({ min: 1, max: 5_000 }),
    choices: fc.integer({ min: 1, max: 3 }),
    pictures: fc.constantFrom('asked' as const, 'none' as const),
    tiers: fc.constantFrom([], [{ field: 'service_tier', tier: 'standard' as const, isBinding: false }]),
  },
  { requiredKeys: ['bodyBytes', 'maxOutput'] },
);

function callOf(name: string, rates: object, learned: ModelLine['learned'], given: Partial<CallFacts>) {
  const line = {
    ...{ id: 1n, pattern: name, upstream: null, overrides: {}, learned, context: CONTEXT, maxOutput: 8_000 },
    ...{ fallback: [], isFree: false, prices: [{ id: 1n, from: 0, rates }] },
  };
  const model: Model = { name, upstream: name, line };
  const facts = { operation: 'generate.create', model, writesAudio: false, ...given } as CallFacts;
  return { model, facts, quote: quoteCall(CALLER, facts, 1) };
}
const NOTHING = { abilities: {}, tiers: [] };
const parts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 12, maxLength: 12 });

/** What a provider can report of a model with these abilities, each part by its own share of the most. */
function honestReply(
  { bodyBytes = 0, maxOutput = 0, choices = 1, pictures, tiers = [] }: Partial<CallFacts>,
  can: rules.Abilities,
  rates: ReturnType<typeof parseRates>,
  shares: readonly number[],
): MeteredUsage {
  const most = (n: number, limit: number): number => Math.floor((shares[n] ?? 0) * limit);
  const isReading = can.searches > 0 || can.pages || can.code;
  const asked = pictures === 'asked' ? Math.max(1, can.pictures) : can.pictures;
  const drawn = pictures === 'none' ? 0 : most(0, asked * choices * rules.PICTURE_TOKENS);
  const text = most(1, (can.ownLimit ? Math.max(maxOutput, 8_000) : maxOutput) * choices);
  const served = ['standard', ...(tiers.length > 0 ? [] : [...(rates.tiers?.keys() ?? [])])];
  return {
    input: most(2, (isReading ? CONTEXT : bodyBytes) + can.otherModels * CONTEXT),
    cacheRead: 0,
    cacheWrite: 0,
    output: text + drawn,
    reasoning: most(3, text),
    ...(drawn > 0 && { outputImage: drawn }),
    ...(can.sound && { outputAudio: most(4, text) }),
    ...(can.video && { outputVideo: most(5, text) }),
    ...(can.searches > 0 && { searches: most(6, can.searches), citations: most(7, 200_000) }),
    tier: served[most(8, served.length - 1e-9)] ?? 'standard',
  };
}

test('a reply within what its model can do costs at most the reservation', () => {
  fc.assert(
    fc.property(upstream, ratesOf, request, parts, (name, stored, given, shares) => {
      const rates = parseRates(stored);
      const { model, quote } = callOf(name, stored, NOTHING, given);
      const usage = honestReply(given, abilitiesFor(model, rates), rates, shares);
      const { nanos } = costOf(usage, rates, quote.multipliers);
      assert.ok(nanos <= quote.maxCost, `${nanos} > ${quote.maxCost}: ${JSON.stringify(usage)}`);
      assert.equal(exceededBy(usage, { ...quote, isPassed: nanos > quote.maxCost }), undefined);
    }),
    RUNS,
  );
});

test('a reply beyond what was known is learned, and the same reply is within the next reservation', () => {
  const all: rules.Abilities = {
    ...{
      pictures: 30,
      sound: true,
      video: true,
      searches: 30,
      pages: true,
      code: true,
      otherModels: 0,
      ownLimit: true,
    },
  };
  fc.assert(
    fc.property(upstream, ratesOf, request, parts, (name, stored, { pictures: _, tiers: __, ...given }, shares) => {
      const rates = parseRates(stored);
      const reply = { ...honestReply(given, all, rates, shares), tier: 'priority' };
      let learned: ModelLine['learned'] = NOTHING;
      // Each lesson may show another: pictures that were reserved uncover a long text.
      for (let round = 0; round < 4; round += 1) {
        const { quote } = callOf(name, stored, learned, given);
        const { nanos } = costOf(reply, rates, quote.multipliers);
        const isPassed = nanos > quote.maxCost;
        const found = exceededBy(reply, { ...quote, isPassed });
        if (!isPassed) return;
        assert.ok(found, `nothing is learned of ${JSON.stringify(reply)}`);
        const abilities = rules.mostOf({ ...rules.TEXT_ONLY, ...learned.abilities }, found.abilities);
        const tiers = found.tier === undefined ? learned.tiers : [...learned.tiers, found.tier];
        learned = { abilities, tiers };
      }
      const { quote } = callOf(name, stored, learned, given);
      assert.ok(costOf(reply, rates, quote.multipliers).nanos <= quote.maxCost, JSON.stringify({ reply, learned }));
    }),
    RUNS,
  );
});
