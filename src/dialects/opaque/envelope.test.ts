import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Opaque } from '../hub/types.ts';
import { isEnvelope, pack, packBytes, unwrap, wrap } from './envelope.ts';

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

test('unwrap returns every value that wrap writes, whatever its text holds', () => {
  for (const data of ['', 'a"b\\c', 'line\nbreak\t', '\u2028 ü 漢 \ud800', '\u0000\u001f', 'x'.repeat(100_000)]) {
    const value: Opaque = { ...VALUE, account: data.slice(0, 50), id: 'a,"d":"', lengths: [0, 12], mac: 'm', data };
    assert.deepEqual(unwrap(wrap(value)), value);
  }
});

test('an envelope for a slot of bytes is base64, and is read after a client has encoded its bytes anew', () => {
  for (const data of ['', 'S+ig/==', '?~?~>>', 'ü 漢 \u007f']) {
    const value: Opaque = { ...VALUE, account: 'tag', data };
    const text = packBytes(value, 'generate-content');
    const bytes = Buffer.from(text, 'base64');
    assert.equal(bytes.toString('base64'), text, 'strict decoders accept it');
    for (const sent of [text, bytes.toString('base64url'), text.replaceAll('+', '-').replaceAll('/', '_')]) {
      assert.ok(isEnvelope(sent));
      assert.deepEqual(unwrap(sent), value);
    }
  }
  assert.equal(packBytes(VALUE, 'messages'), 'S+ig/==', 'a value of the style itself stays bare');
  assert.equal(isEnvelope('gw1oAnotherValue'), false);
});

test('unwrap takes forged envelopes as absent by their shape alone, without parsing them', (t) => {
  const parse = t.mock.method(JSON, 'parse');
  const sealed = (json: string): string => `gw1.${Buffer.from(json).toString('base64url')}`;
  const start = '{"v":1,"p":"messages","k":"thinking"';
  for (const forged of [
    'gw1.',
    'gw1.A',
    `${wrap(VALUE).slice(0, -4)}`,
    ...[
      `${start},"d":"a`,
      `${start},"d":"\\x"}`,
      `${start},"s":[1,],"d":""}`,
      `${start},"d":""}}`,
      '{"v":1}',
      'null',
    ].map(sealed),
  ])
    assert.equal(unwrap(forged), undefined);
  assert.equal(parse.mock.callCount(), 0);
});
