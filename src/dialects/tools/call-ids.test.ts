import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HubItem, HubRequest } from '../hub/types.ts';
import { isMinted } from '../wire/ids.ts';
import { ownCallId, withProviderCallIds } from './call-ids.ts';

const call = (callId: string): HubItem => ({ kind: 'tool_call', callId, name: 'look', form: 'function', args: '{}' });
const result = (callId: string): HubItem => ({ kind: 'tool_result', callId, form: 'function', parts: [] });
const restored = (...items: HubItem[]) =>
  withProviderCallIds({ items } as unknown as HubRequest).items.map((item) => ('callId' in item ? item.callId : ''));
const place = (requestId: string, round = 0) => ({ requestId, round });

test('ownCallId differs for the same id of two replies and of two rounds, and stays the same at one place', () => {
  const ids = [place('a'), place('b'), place('a', 1)].map((at) => ownCallId('call_0', at));
  assert.equal(new Set(ids).size, 3);
  assert.equal(ownCallId('call_0', place('a')), ids[0]);
});

test('ownCallId fits every dialect, whatever the provider sends', () => {
  for (const given of ['call_0', 'x'.repeat(49), 'x'.repeat(50), 'x'.repeat(5_000), 'a b', '\u0000', 'ä'])
    assert.match(ownCallId(given, place('a')), /^[a-zA-Z0-9_-]{1,64}$/);
  assert.ok(isMinted(ownCallId('call_gwABCDEFGHIJKLMNOPQRST', place('a'))), 'a minted id stays one');
});

test('withProviderCallIds returns to providers the ids that they sent', () => {
  const [one, two] = [ownCallId('toolu_1', place('a')), ownCallId('toolu_2', place('b'))];
  assert.deepEqual(restored(call(one), result(one), call(two), result(two)), [
    'toolu_1',
    'toolu_1',
    'toolu_2',
    'toolu_2',
  ]);
});

test('withProviderCallIds keeps ids apart that a provider repeats, and changes no earlier turn when another follows', () => {
  const [one, two] = [ownCallId('call_0', place('a')), ownCallId('call_0', place('b'))];
  const first = restored(call(one), result(one));
  const both = restored(call(one), result(one), call(two), result(two));
  assert.deepEqual(first, ['call_0', 'call_0']);
  assert.deepEqual(both, [...first, two, two]);
});

test('withProviderCallIds leaves ids of clients as they are', () => {
  const items = [call('call_1'), result('call_1'), result('orphan_gwAAAAAAAAAAAA')];
  assert.deepEqual(restored(...items), ['call_1', 'call_1', 'orphan_gwAAAAAAAAAAAA']);
});
