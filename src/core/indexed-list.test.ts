import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { law } from '../../test/laws/runs.ts';
import { IndexedList, type IndexedMember } from './indexed-list.ts';

interface Guest extends IndexedMember {
  readonly name: number;
}

const guest = (name: number): Guest => ({ name, index: -1 });
const namesIn = (roster: IndexedList<Guest>): number[] => roster.all().map(({ name }) => name);
const inOrder = (names: Iterable<number>): number[] => [...names].sort((a, b) => a - b);

test('whoever comes and goes, in whatever order, the same are there as in a set', () => {
  const steps = fc.array(fc.record({ name: fc.nat(12), comes: fc.boolean() }), { maxLength: 80 });
  law(steps, (all) => {
    const roster = new IndexedList<Guest>();
    const guests = Array.from({ length: 13 }, (_, name) => guest(name));
    const there = new Set<number>();
    for (const { name, comes } of all) {
      const one = guests[name] ?? assert.fail();
      if (!comes) roster.remove(one);
      else if (!there.has(name)) roster.add(one);
      if (comes) there.add(name);
      else there.delete(name);
      assert.equal(roster.size, there.size);
      assert.deepEqual(inOrder(namesIn(roster)), inOrder(there));
    }
  });
});

test('who goes twice, or was never there, takes nobody along', () => {
  const roster = new IndexedList<Guest>();
  const guests = [guest(0), guest(1), guest(2)];
  for (const one of guests) roster.add(one);
  const first = guests[0] ?? assert.fail();
  roster.remove(first);
  roster.remove(first);
  roster.remove(guest(7));
  roster.remove({ name: 8, index: 1 });
  assert.deepEqual(inOrder(namesIn(roster)), [1, 2]);
});

test('all may be removed while looking at all', () => {
  const roster = new IndexedList<Guest>();
  for (let name = 0; name < 50; name += 1) roster.add(guest(name));
  const seen: number[] = [];
  for (const one of roster.all()) {
    seen.push(one.name);
    roster.remove(one);
  }
  assert.equal(seen.length, 50);
  assert.equal(roster.size, 0);
});
