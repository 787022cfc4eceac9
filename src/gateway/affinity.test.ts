import assert from 'node:assert/strict';
import { test } from 'node:test';
import { affinityOf, sessionInBody } from './affinity.ts';

const CLI_USER = 'user_1_account__session_8b1f6a52-7f6e-4f5c-9c31-0a2f6f1d7e55';
const sessionIn = (dialect: 'chat' | 'responses' | 'messages', body: Record<string, unknown>): string | undefined =>
  sessionInBody(dialect, (member) => body[member]);

test('a session is the cache key, or a user id that contains a session', () => {
  for (const dialect of ['chat', 'responses'] as const) {
    assert.equal(sessionIn(dialect, { prompt_cache_key: 'k', user: CLI_USER }), 'k');
    assert.equal(sessionIn(dialect, { user: CLI_USER }), '8b1f6a52-7f6e-4f5c-9c31-0a2f6f1d7e55');
    assert.equal(sessionIn(dialect, { safety_identifier: '{"session_id":"s"}' }), 's');
  }
  assert.equal(sessionIn('messages', { metadata: { user_id: CLI_USER } }), '8b1f6a52-7f6e-4f5c-9c31-0a2f6f1d7e55');
  assert.equal(sessionIn('messages', { metadata: { user_id: 'end-user' } }), 'end-user');
});

test('names of users and applications, free metadata and other types are not a session', () => {
  for (const body of [{ user: 'app' }, { safety_identifier: 'u1' }, { metadata: { user_id: 'u1' } }, { user: 7 }])
    assert.equal(sessionIn('chat', body), undefined);
  for (const body of [{}, { metadata: null }, { metadata: 'x' }, { metadata: { user_id: '' } }, { user: CLI_USER }])
    assert.equal(sessionIn('messages', body), undefined);
  assert.deepEqual(affinityOf(undefined), {});
});
