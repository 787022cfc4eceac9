import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codecOf, type HubRequest, type Opaque, opaquesIn } from '../../dialects/index.ts';
import { wrap } from '../../dialects/opaque/envelope.ts';
import type { Caller } from '../caller.ts';
import { dropForged, signerFor } from './opaque-signer.ts';

const KEY = Buffer.alloc(32, 1);
const callerOf = (userId: string, group: string): Caller => ({ key: { userId }, group: { id: group } }) as Caller;
const ana = signerFor(KEY, callerOf('ana', 'openai'));
const VALUE: Opaque = { issuer: 'responses', kind: 'reasoning', data: 'secret', id: 'rs_1', account: 'tag' };
const signed = (opaque: Opaque, sign = ana): string => wrap({ ...opaque, mac: sign(opaque) });

/** A messages request whose thinking block and compaction carry the envelope. */
const requestWith = (envelope: string): HubRequest =>
  codecOf('messages').client.decodeRequest(
    {
      model: 'm',
      max_tokens: 10,
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: envelope },
            { type: 'text', text: 'yes' },
          ],
        },
        { role: 'user', content: 'go on' },
      ],
    },
    { headers: {} },
  );

test('dropForged keeps a value that the same user got on the same group', () => {
  const request = requestWith(signed(VALUE));
  assert.equal(dropForged(request, ana), request);
  assert.deepEqual(
    opaquesIn(request).map(({ data }) => data),
    ['secret'],
  );
});

const { account: _, ...WITHOUT_ACCOUNT } = VALUE;
for (const [about, envelope] of [
  ['a value of another user', signed(VALUE, signerFor(KEY, callerOf('ben', 'openai')))],
  ['a value of another group', signed(VALUE, signerFor(KEY, callerOf('ana', 'other')))],
  ['a value under another key', signed(VALUE, signerFor(Buffer.alloc(32, 2), callerOf('ana', 'openai')))],
  ['a value with another id', wrap({ ...VALUE, id: 'rs_2', mac: ana(VALUE) })],
  ['a value with another account', wrap({ ...VALUE, account: 'other', mac: ana(VALUE) })],
  ['a value without its account', wrap({ ...WITHOUT_ACCOUNT, mac: ana(VALUE) })],
  ['other data', wrap({ ...VALUE, data: 'forged', mac: ana(VALUE) })],
  ['a value without a signature', wrap(VALUE)],
  ['a signature with other characters', wrap({ ...VALUE, mac: 'é'.repeat(11) })],
] as const)
  test(`dropForged removes ${about}, with its reasoning and nothing else`, () => {
    const request = dropForged(requestWith(envelope), ana);
    assert.deepEqual(opaquesIn(request), []);
    assert.deepEqual(
      request.items.map(({ kind }) => kind),
      ['message', 'message', 'message'],
    );
  });

test('dropForged keeps bare values in the slot of their own provider', () => {
  const request = requestWith('bare-signature');
  assert.equal(dropForged(request, ana), request);
  assert.deepEqual(
    opaquesIn(request).map(({ issuer }) => issuer),
    ['messages'],
  );
});

test('dropForged removes the forged value of a summary', () => {
  const compaction = { kind: 'compaction', text: 'so far', opaque: VALUE } as const;
  const request = { ...requestWith(''), items: [compaction] };
  assert.deepEqual(dropForged(request, ana).items, [{ kind: 'compaction', text: 'so far' }]);
});
