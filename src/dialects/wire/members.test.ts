import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byType, unreadMembers } from './members.ts';

test('unreadMembers names what a table does not list, without positions, each once', () => {
  const table = { list: { known: true }, whole: true };
  const body = {
    list: [
      { known: 1, extra: 2 },
      { extra: 3, more: null },
    ],
    whole: { any: 1 },
    novelty: [1],
  };
  assert.deepEqual(unreadMembers(body, table), ['list.extra', 'novelty']);
});

test('unreadMembers ignores empty values and names members that a table lists as unread', () => {
  const table = { '*': true, name: false, parts: { '*': true, mark: false } };
  assert.deepEqual(unreadMembers({ name: null, other: 1, parts: [] }, table), []);
  assert.deepEqual(unreadMembers({ name: 'n', parts: [{ mark: {} }] }, table), ['name', 'parts.mark']);
});

test('unreadMembers reads an object by the table of its type, and one of another type as a whole', () => {
  const table = { items: byType({ a: { type: true } }) };
  const items = [
    { type: 'a', x: 1 },
    { type: 'b', y: 1 },
    { type: 'constructor', z: 1 },
  ];
  assert.deepEqual(unreadMembers({ items }, table), ['items.x']);
});

test('unreadMembers returns a bounded number of names', () => {
  const body = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field${n}`, 1]));
  assert.ok(unreadMembers({ body }, { body: {} }).length <= 100);
});
