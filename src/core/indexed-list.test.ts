import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { law } from '../../test/laws/runs.ts';
import { IndexedList, type IndexedMember } from './indexed-list.ts';

interface Member extends IndexedMember {
  readonly name: number;
}

const member = (name: number): Member => ({ name, index: -1 });
const namesIn = (list: IndexedList<Member>): number[] => list.all().map(({ name }) => name);
const inOrder = (names: Iterable<number>): number[] => [...names].sort((a, b) => a - b);

test('IndexedList holds the same members as a Set after any adds and removes', () => {
  const steps = fc.array(fc.record({ name: fc.nat(12), comes: fc.boolean() }), { maxLength: 80 });
  law(steps, (all) => {
    const list = new IndexedList<Member>();
    const members = Array.from({ length: 13 }, (_, name) => member(name));
    const expected = new Set<number>();
    for (const { name, comes: isAdd } of all) {
      const one = members[name] ?? assert.fail();
      if (!isAdd) list.remove(one);
      else if (!expected.has(name)) list.add(one);
      if (isAdd) expected.add(name);
      else expected.delete(name);
      assert.equal(list.size, expected.size);
      assert.deepEqual(inOrder(namesIn(list)), inOrder(expected));
    }
  });
});

test('IndexedList.remove does nothing for a member that is not in the list', () => {
  const list = new IndexedList<Member>();
  const members = [member(0), member(1), member(2)];
  for (const one of members) list.add(one);
  const first = members[0] ?? assert.fail();
  list.remove(first);
  list.remove(first);
  list.remove(member(7));
  list.remove({ name: 8, index: 1 });
  assert.deepEqual(inOrder(namesIn(list)), [1, 2]);
});

test('IndexedList members can be removed during a loop over all()', () => {
  const list = new IndexedList<Member>();
  for (let name = 0; name < 50; name += 1) list.add(member(name));
  const seen: number[] = [];
  for (const one of list.all()) {
    seen.push(one.name);
    list.remove(one);
  }
  assert.equal(seen.length, 50);
  assert.equal(list.size, 0);
});
