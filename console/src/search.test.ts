import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cursorOf, filtersIn, newerPage, olderPage, parseSearch, stringifySearch, withFilter } from './search.ts';

test('a search survives the address, and empty values are left out', () => {
  const search = { user: 'ana & co', status: '429', model: '' };
  assert.equal(stringifySearch(search), '?user=ana+%26+co&status=429');
  assert.deepEqual(parseSearch('?user=ana+%26+co&status=429&model='), { user: 'ana & co', status: '429' });
  assert.equal(stringifySearch({}), '');
});

test('pages go older and back to the first one, and keep the filters', () => {
  const second = olderPage({ user: 'ana' }, 'c2');
  const third = olderPage(second, 'c3');
  assert.equal(cursorOf(third), 'c3');
  assert.deepEqual(newerPage(third), second);
  assert.deepEqual(newerPage(second), { user: 'ana', page: undefined });
  assert.equal(cursorOf({ user: 'ana' }), undefined);
});

test('a changed filter returns to the first page, and keeps the other filters', () => {
  const changed = withFilter({ user: 'ana', page: 'c2' }, 'model', 'gpt-5');
  assert.deepEqual(changed, { user: 'ana', model: 'gpt-5', page: undefined });
  assert.deepEqual(filtersIn(changed, ['user', 'model', 'key']), { user: 'ana', model: 'gpt-5' });
  assert.equal(withFilter(changed, 'user', '').user, undefined);
});
