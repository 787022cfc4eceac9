import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkReferences } from './references.ts';
import { parseSetup } from './setup-document.ts';

const check = (account: object): string[] =>
  checkReferences(
    parseSetup(
      JSON.stringify({
        groups: [
          { id: 'text', style: 'responses' },
          { id: 'film', style: 'video', variant: 'A' },
        ],
        accounts: [{ id: 'one', group: 'film', base_url: 'https://gateway.example.com', api_key: 'k', ...account }],
      }),
    ),
    { groups: new Map(), users: new Set() },
  );

test('checkReferences accepts another Dragoman as the upstream of a video account', () => {
  assert.deepEqual(check({ adapter: 'dragoman' }), []);
  assert.deepEqual(check({ adapter: 'dragoman', base_url: 'https://example.com/gateway/' }), []);
  assert.deepEqual(check({ adapter: 'ark', base_url: 'https://ark.example.com/api/v3' }), []);
});

test('checkReferences rejects an adapter outside video groups, the path of one API, and settings of an asset library', () => {
  const assets = { base_url: 'https://example.com', access_key: 'a', secret_key: 's', region: 'r', project: 'p' };
  assert.deepEqual(check({ adapter: 'dragoman', group: 'text' }), [
    'accounts[0].adapter: found "dragoman", expected it only in a video group',
  ]);
  for (const suffix of ['/api/v3', '/v1', '/v1/'])
    assert.deepEqual(check({ adapter: 'dragoman', base_url: `https://gateway.example.com${suffix}` }), [
      `accounts[0].base_url: found "${suffix}" at the end, expected the address of the other gateway without it`,
    ]);
  assert.deepEqual(check({ adapter: 'dragoman', assets }), [
    'accounts[0].assets: found settings, expected none; the other gateway uses api_key',
  ]);
});

test('checkReferences rejects an unknown group among the key_groups of a user', () => {
  const setup = { users: [{ id: 'ana', max_keys: 1, key_groups: ['text', 'film', 'nix'] }] };
  const known = {
    groups: new Map([
      ['text', { style: 'responses', variant: undefined }],
      ['film', { style: 'video', variant: 'A' }],
    ] as const),
  };
  assert.deepEqual(checkReferences(parseSetup(JSON.stringify(setup)), { ...known, users: new Set() }), [
    'users[0].key_groups[2]: found "nix", expected a group of the file or the database',
  ]);
});

test('checkReferences accepts presets and capabilities of chat servers in responses groups only', () => {
  const capabilities = { refusedFields: ['strict'], reasoningHistory: 'reasoning', imageInput: false };
  assert.deepEqual(check({ group: 'text', features: ['chat'], preset: 'vllm', capabilities }), []);
  assert.deepEqual(check({ preset: 'vllm' }), [
    'accounts[0].preset: found "vllm", expected it only in a group of style responses',
  ]);
  assert.throws(() => check({ group: 'text', preset: 'unknown' }), /accounts\[0\]\.preset/);
  assert.throws(() => check({ group: 'text', capabilities: { refusedFields: ['modell'] } }), /refusedFields/);
  assert.throws(() => check({ group: 'text', capabilities: { imageinput: false } }), /imageinput/);
});

test('checkReferences admits Converse only at Bedrock, and nothing else of Bedrock outside of messages groups', () => {
  const cloud = { kind: 'bedrock', auth: 'api-key' };
  assert.deepEqual(check({ group: 'text', cloud }), []);
  assert.deepEqual(check({ group: 'text', cloud, features: ['converse'] }), []);
  assert.deepEqual(check({ group: 'text', cloud, features: ['chat'] }), [
    'accounts[0].features: found "chat", expected some of converse',
  ]);
  assert.match(check({ group: 'text', features: ['converse'] })[0] ?? '', /^accounts\[0\]\.features: found "converse"/);
});
