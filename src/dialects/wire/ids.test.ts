import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Dialect } from '../../rules/index.ts';
import { cacheKeyFor, callIdFor, isMinted, itemId, mintCallId, responseId, uniqueCallId, userTag } from './ids.ts';

const VALID: Readonly<Record<Dialect, RegExp>> = {
  messages: /^[a-zA-Z0-9_-]+$/,
  chat: /^.{1,64}$/s,
  responses: /^.{1,64}$/s,
  generate: /^.+$/s,
};

test('callIdFor keeps valid ids and maps others to distinct valid ids', () => {
  const dialects = fc.constantFrom<Dialect>('messages', 'chat', 'responses', 'generate');
  const id = fc.oneof(fc.string({ maxLength: 120 }), fc.constant('x'.repeat(100)), fc.constant(`${'x'.repeat(100)}y`));
  fc.assert(
    fc.property(dialects, id, id, (dialect, one, two) => {
      const mapped = callIdFor(dialect, one);
      assert.match(mapped, VALID[dialect]);
      if (VALID[dialect].test(one)) assert.equal(mapped, one);
      assert.equal(mapped === callIdFor(dialect, two), one === two);
    }),
  );
});

test('minted ids are valid in every dialect, stable, and recognisable', () => {
  const id = mintCallId('req_1', 0);
  assert.match(id, /^call_gw[a-zA-Z0-9_-]{20}$/);
  assert.deepEqual([mintCallId('req_1', 0), isMinted(id), isMinted('call_1')], [id, true, false]);
  assert.notEqual(mintCallId('req_1', 1), id);
  assert.match(itemId('fc', 'resp_1', 3), /^fc_[a-zA-Z0-9_-]{24}$/);
});

test('uniqueCallId mints an id when the given one is missing or already used', () => {
  const usedIds = new Set<string>();
  assert.equal(uniqueCallId('a', usedIds, 'seed'), 'a');
  const ids = ['a', undefined, ''].map((given) => uniqueCallId(given, usedIds, 'seed'));
  assert.ok(ids.every(isMinted));
  assert.equal(usedIds.size, 4);
});

test('responseId keeps the suffix of the upstream id and hashes unusual ones', () => {
  assert.equal(responseId('chatcmpl-', 'msg_01Story'), 'chatcmpl-01Story');
  assert.match(responseId('resp_', 'a b'), /^resp_[a-zA-Z0-9_-]{24}$/);
});

test('userTag and long cache keys are hashes of 40 characters', () => {
  assert.match(userTag('someone@example.org'), /^[a-zA-Z0-9_-]{40}$/);
  assert.deepEqual([cacheKeyFor('k'), cacheKeyFor(''), cacheKeyFor(undefined)], ['k', undefined, undefined]);
  assert.equal(cacheKeyFor('k'.repeat(64)), 'k'.repeat(64));
  assert.match(cacheKeyFor('k'.repeat(65)) ?? '', /^[a-zA-Z0-9_-]{40}$/);
});
