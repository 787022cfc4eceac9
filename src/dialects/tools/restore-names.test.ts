import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deepFreeze } from '../../../test/support/dialects/codecs.ts';
import type { HubEvent, HubItem, ToolName } from '../hub/types.ts';
import { restoreEvent, restoreItem } from './names.ts';

const NAMES: ReadonlyMap<string, ToolName> = new Map([
  ['read_file', { name: 'read.file' }],
  ['fs__read', { name: 'read', namespace: 'fs' }],
]);
const call = (name: string, more: object = {}): HubItem =>
  deepFreeze({ kind: 'tool_call', callId: 'c', name, form: 'function', args: '{}', ...more });

test('restoreItem restores name and namespace of a call', () => {
  assert.deepEqual(restoreItem(call('read_file'), NAMES), call('read.file'));
  assert.deepEqual(restoreItem(call('fs__read'), NAMES), call('read', { namespace: 'fs' }));
});

test('restoreItem leaves names outside the table and other items unchanged', () => {
  const message: HubItem = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'read_file' }] };
  for (const item of [call('ns__other'), message]) assert.equal(restoreItem(item, NAMES), item);
});

test('restoreEvent restores the start and the end of an item', () => {
  for (const kind of ['item', 'item_end'] as const)
    assert.deepEqual(restoreEvent({ kind, index: 2, item: call('read_file') }, NAMES), {
      kind,
      index: 2,
      item: call('read.file'),
    });
});

test('restoreEvent leaves other events unchanged', () => {
  const event: HubEvent = { kind: 'args', index: 0, text: 'read_file' };
  assert.equal(restoreEvent(event, NAMES), event);
});
