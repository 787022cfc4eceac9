import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Account, Catalog, type Group, type ModelLine } from '../catalog/index.ts';
import { ApiError, fail } from '../core/index.ts';
import {
  FEATURES,
  fallbackCell,
  INFERENCE_ENDPOINTS,
  type InferenceOperation,
  inferenceRow,
  mayFallBack,
  OPT_IN_FEATURES,
  type ServedCell,
  STYLES,
  type Style,
  waysOfCell,
} from '../rules/index.ts';
import type { Caller } from './caller.ts';
import { type Plan, type PlannedRequest, plan, type Way } from './plan.ts';

const OPERATIONS = Object.keys(INFERENCE_ENDPOINTS).filter(
  (name) => 'groups' in INFERENCE_ENDPOINTS[name as never] && name !== 'responses.socket',
) as InferenceOperation[];

const groupOf = (style: Style, id: string = style): Group & { style: Style } =>
  ({ id, style, multiplierPpm: 1_000_000n }) as Group & { style: Style };
const accountOf = (groupId: string, n: number, features: readonly string[]): Account =>
  ({ id: `${groupId}-${n}`, groupId, features: new Set(features) }) as unknown as Account;
const callerOf = (group: Group & { style: Style }): Caller => ({ key: { allowedModels: null }, group }) as Caller;
const lineOf = (pattern: string, fallback: ModelLine['fallback'] = []): ModelLine =>
  ({ pattern, upstream: null, fallback, overrides: {}, prices: [] }) as unknown as ModelLine;

/** The cell of the matrix by which providers serve a request of a key, or a line takes one over. */
function cellOf(operation: InferenceOperation, style: Style, isOwn: boolean): ServedCell | undefined {
  const cell = isOwn ? inferenceRow(operation).groups[style] : fallbackCell(operation, style);
  return cell?.kind === 'refuse' || cell?.kind === 'own' ? undefined : cell;
}

/** Dialect, native or converted, and the feature that an account needs. Of counts, only the native ones are planned. */
function waysFor(operation: InferenceOperation, cell: ServedCell | undefined) {
  const row = inferenceRow(operation);
  const isCount = 'converts' in row && row.converts === 'count';
  const nativeFeature = cell && 'feature' in cell ? cell.feature : undefined;
  return (cell ? waysOfCell(cell) : [])
    .filter(({ isNative }) => isNative || !isCount)
    .map((way) => ({ ...way, feature: way.isNative ? nativeFeature : way.dialect }));
}

const ALL_FEATURES = [...new Set(STYLES.flatMap((style) => [...FEATURES[style], ...OPT_IN_FEATURES[style]]))];
const featureSets = fc.array(fc.subarray(ALL_FEATURES), { maxLength: 5 });

/** A world of one group of each style; the own one names lines of the others. */
function worldOf(own: Style, sets: Readonly<Record<Style, readonly (readonly string[])[]>>, targets: readonly Style[]) {
  const groups = STYLES.map((style) => groupOf(style));
  const accounts = STYLES.flatMap((style) => sets[style].map((features, n) => accountOf(style, n, features)));
  const fallback = targets.filter((style) => style !== own).map((style) => `${style}/spare`);
  const lines = new Map(
    STYLES.map((style) => [style as string, [style === own ? lineOf('m', fallback) : lineOf('spare')]]),
  );
  return { catalog: new Catalog(groups, accounts, lines), caller: callerOf(groupOf(own)), accounts, fallback };
}

const worlds = fc.record({
  own: fc.constantFrom(...STYLES),
  sets: fc.record({ responses: featureSets, messages: featureSets, 'generate-content': featureSets }),
  targets: fc.shuffledSubarray([...STYLES]),
});

const planned = (request: PlannedRequest, world: ReturnType<typeof worldOf>): Plan | ApiError => {
  try {
    return plan(request, world.caller, world.catalog);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
};
const idsOf = (ways: readonly Way[]): string[] => ways.flatMap(({ accounts }) => accounts.map(({ id }) => id));
const groupsOf = (ways: readonly Way[]): string[] => [...new Set(ways.map(({ caller }) => caller.group.id))];
const isOwn = ({ caller }: Way): boolean => caller.fallback === undefined;

for (const operation of OPERATIONS)
  test(`the plan of ${operation}: each account of a group once, in the best dialect of the matrix that it speaks, the best first`, () =>
    fc.assert(
      fc.property(worlds, ({ own, sets, targets }) => {
        const world = worldOf(own, sets, targets);
        const { ways, leftOut } = plan({ operation, model: 'm' }, world.caller, world.catalog);
        const order = mayFallBack(operation) ? [own, ...world.fallback.map((line) => line.split('/')[0])] : [own];
        assert.deepEqual(
          groupsOf(ways),
          order.filter((id) => waysFor(operation, cellOf(operation, id as Style, id === own)).length > 0),
          'the own group first, then the lines of its list',
        );
        for (const id of order) {
          const inGroup = ways.filter(({ caller }) => caller.group.id === id);
          const cell = cellOf(operation, id as Style, id === own);
          const inCell = waysFor(operation, cell);
          const accounts = world.catalog.accounts(id ?? '');
          const bestOf = ({ features }: Account) =>
            inCell.findIndex(({ feature }) => feature === undefined || features.has(feature));
          const places = inGroup.map((way) =>
            inCell.findIndex(({ dialect, isNative }) => dialect === way.dialect && isNative === way.isNative),
          );
          assert.deepEqual(places, places.toSorted());
          for (const [n, way] of inGroup.entries())
            for (const account of way.accounts) assert.equal(bestOf(account), places[n]);
          const serving = accounts.filter((account) => bestOf(account) >= 0).map((account) => account.id);
          assert.deepEqual(idsOf(inGroup).toSorted(), serving.toSorted());
          if (serving.length === 0 && inCell.length > 0) assert.deepEqual(places, [0], 'one way that says so');
          const out = leftOut.filter(({ group, way }) => group.id === id && way);
          assert.equal(
            out.length,
            (cell ? waysOfCell(cell).length : 0) - inGroup.length,
            'every other dialect has a reason',
          );
          assert.ok(cell || leftOut.some(({ group, because }) => group.id === id && because === 'style'));
        }
        for (const { caller, model } of ways) {
          if (caller.fallback) assert.equal(caller.fallback.model, model);
          assert.ok(model === undefined || model.name === 'm', 'the caller reads its own name');
        }
      }),
      { numRuns: 40 },
    ));

const notFound = fail('previous_response_not_found');
const refused = fail('unsupported_parameter');

test('a request that the caller keeps in its group, or that is bound to it, has no ways of other groups', () =>
  fc.assert(
    fc.property(worlds, fc.constantFrom(...OPERATIONS), fc.boolean(), ({ own, sets, targets }, operation, isBound) => {
      const world = worldOf(own, sets, targets);
      const request = { operation, model: 'm', isBound, refusesFallback: !isBound };
      assert.ok(plan(request, world.caller, world.catalog).ways.every(isOwn));
    }),
  ));

test('a request that continues a response has native ways only to the account that holds it, and converted ones only from our store', () =>
  fc.assert(
    fc.property(worlds, fc.nat(), fc.constantFrom('account', 'here', 'nowhere'), ({ own, sets, targets }, n, where) => {
      const world = worldOf(own, sets, targets);
      const holder = world.accounts[n % Math.max(1, world.accounts.length)];
      const accountId = where === 'account' ? holder?.id : undefined;
      const held = { accountId, isHere: where === 'here', notFound };
      const result = planned({ operation: 'responses.create', model: 'm', held }, world);
      assert.ok(!(result instanceof ApiError));
      for (const way of result.ways) {
        assert.ok(way.isNative ? way.boundTo === accountId && accountId !== undefined : held.isHere);
        if (way.isNative) assert.ok(way.accounts.every(({ id }) => id === accountId));
      }
      for (const { because, error } of result.leftOut.filter((one) => one.error)) {
        assert.equal(error, notFound);
        assert.equal(because, where === 'nowhere' || (where === 'account' && !holder) ? 'request' : 'elsewhere');
      }
      if (where === 'nowhere') assert.deepEqual([result.ways, result.refusal], [[], notFound]);
    }),
  ));

test('a request that names objects stays in its group, on the account that holds them or on those open to all', () =>
  fc.assert(
    fc.property(worlds, fc.nat(), fc.boolean(), fc.boolean(), ({ own, sets, targets }, n, isHeld, isFinal) => {
      const world = worldOf(own, sets, targets);
      const holder = world.accounts[n % Math.max(1, world.accounts.length)];
      const accountId = isHeld ? holder?.id : undefined;
      const request = {
        operation: 'responses.create',
        model: 'm',
        objectsOf: () => ({ accountId, refused, isFinal }),
      } as const;
      const result = planned(request, world);
      const isOpen = world.catalog.accounts(own).some(({ features }) => features.has('objects'));
      if (result instanceof ApiError) {
        assert.equal(result, refused);
        return assert.ok(isFinal && !isOpen && accountId === undefined);
      }
      assert.ok(result.ways.every(isOwn));
      for (const { accounts } of result.ways.filter(({ isNative }) => isNative))
        for (const account of accounts)
          assert.ok(accountId === undefined ? account.features.has('objects') : account.id === accountId);
    }),
  ));

test('a summary of this gateway is read by conversions only, where the group has one', () => {
  const world = worldOf(
    'responses',
    { responses: [['responses'], ['chat']], messages: [], 'generate-content': [] },
    [],
  );
  const { ways, leftOut, refusal } = plan(
    { operation: 'responses.create', model: 'm', holdsOwnSummary: true },
    world.caller,
    world.catalog,
  );
  assert.deepEqual(
    ways.map(({ dialect }) => dialect),
    ['chat'],
  );
  assert.deepEqual([leftOut.map(({ because }) => because), refusal], [['accounts', 'request'], undefined]);
});
