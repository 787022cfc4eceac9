import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Account, Catalog, type Group, type ModelLine } from '../catalog/index.ts';
import {
  fallbackCell,
  INFERENCE_ENDPOINTS,
  type InferenceOperation,
  inferenceRow,
  legsOf,
  type ServedCell,
  STYLES,
  type Style,
  UPSTREAM_DIALECTS,
} from '../rules/index.ts';
import type { Caller } from './caller.ts';
import { planFallback, planGroup, type Way } from './plan.ts';

const OPERATIONS = Object.keys(INFERENCE_ENDPOINTS).filter(
  (name) => 'groups' in INFERENCE_ENDPOINTS[name as never],
) as InferenceOperation[];

const groupOf = (style: Style, id: string = style): Group & { style: Style } =>
  ({ id, style, multiplierPpm: 1_000_000n }) as Group & { style: Style };
const accountOf = (groupId: string, n: number, features: readonly string[]): Account =>
  ({ id: `${groupId}-${n}`, groupId, features: new Set(features) }) as unknown as Account;
const callerOf = (group: Group & { style: Style }): Caller => ({ key: { id: 'key' }, group }) as Caller;

/** The cells of the matrix by which providers serve a request. */
const CELLS = OPERATIONS.flatMap((operation) =>
  STYLES.flatMap((style) => {
    const cell = inferenceRow(operation).groups[style];
    return cell.kind === 'refuse' || cell.kind === 'own' ? [] : [{ operation, style, cell: cell as ServedCell }];
  }),
);

const featureSets = fc.array(fc.subarray([...UPSTREAM_DIALECTS]), { maxLength: 6 });

const idsOf = (ways: readonly Way[]): string[] => ways.flatMap(({ accounts }) => accounts.map(({ id }) => id));

test('a plan has each account of the group once, in the best dialect of the matrix that it speaks, the best dialects first', () => {
  for (const { operation, style, cell } of CELLS)
    fc.assert(
      fc.property(featureSets, (sets) => {
        const accounts = sets.map((features, n) => accountOf(style, n, features));
        const ways = planGroup(new Catalog([groupOf(style)], accounts, new Map()), callerOf(groupOf(style)), cell);
        const legs = legsOf(cell);
        const bestOf = ({ features }: Account) => legs.findIndex(({ dialect }) => features.has(dialect));
        const places = ways.map((way) => legs.findIndex(({ dialect }) => dialect === way.dialect));
        assert.deepEqual(places, places.toSorted(), `${operation} of ${style}`);
        for (const [n, way] of ways.entries())
          for (const account of way.accounts) assert.equal(bestOf(account), places[n], `${operation} of ${style}`);
        assert.deepEqual(
          idsOf(ways).toSorted(),
          accounts
            .filter((one) => bestOf(one) >= 0)
            .map(({ id }) => id)
            .toSorted(),
        );
        if (idsOf(ways).length === 0)
          assert.deepEqual(
            ways.map(({ dialect }) => dialect),
            [legs[0]?.dialect],
          );
      }),
    );
});

const lineOf = (pattern: string, fallback: ModelLine['fallback'] = []): ModelLine =>
  ({ pattern, upstream: null, fallback, overrides: {}, prices: [] }) as unknown as ModelLine;

test('a plan has the ways of fallback lines in the order of the list, and only where their style serves the operation', () => {
  const groups = STYLES.map((style) => groupOf(style));
  const accounts = STYLES.map((style, n) => accountOf(style, n, UPSTREAM_DIALECTS));
  for (const operation of OPERATIONS)
    fc.assert(
      fc.property(fc.shuffledSubarray([...STYLES]), fc.constantFrom(...STYLES), (targets, own) => {
        const others = targets.filter((style) => style !== own);
        const named = lineOf(
          'm',
          others.map((group) => `${group}/spare`),
        );
        const lines = new Map(STYLES.map((style) => [style as string, style === own ? [named] : [lineOf('spare')]]));
        const catalog = new Catalog(groups, accounts, lines);
        const model = catalog.resolve(own, 'm') ?? assert.fail();
        const ways = planFallback(catalog, callerOf(groupOf(own)), model, operation);
        const expected = others.flatMap((style) => {
          const cell = fallbackCell(operation, style);
          return cell ? [[`${style}/spare`, legsOf(cell)[0]?.dialect, legsOf(cell)[0]?.isNative]] : [];
        });
        assert.deepEqual(
          ways.map(({ caller, dialect, isNative }) => [caller.fallback?.line, dialect, isNative]),
          expected,
          operation,
        );
        for (const { caller } of ways) assert.equal(caller.fallback?.model.name, 'm', 'the caller reads its own name');
      }),
    );
});
