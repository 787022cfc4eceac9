import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Opaque } from '../hub/types.ts';
import { isEnvelope, pack, unwrap } from './envelope.ts';

const VALUE: Opaque = { issuer: 'messages', kind: 'thinking', data: 'S+ig/==' };

test('pack returns a value bare only in the slot of its issuer, and without an account or id that must return with it', () => {
  assert.equal(pack(VALUE, 'messages'), 'S+ig/==');
  for (const [value, client] of [
    [VALUE, 'responses'],
    [{ ...VALUE, account: 'tag' }, 'messages'],
    [{ ...VALUE, id: 'call_1' }, 'messages'],
  ] as const) {
    assert.ok(isEnvelope(pack(value, client)));
    assert.deepEqual(unwrap(pack(value, client)), value);
  }
});
