import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ACCOUNT_KIND_NAMES, accountKind, settingsOfCloud } from '../../rules/index.ts';
import { cloudErrors } from './cloud-errors.ts';

const KEY = { kind: 'azure-openai', auth: 'api-key' } as const;

test('the settings of a cloud are those of its kind and of its way to sign in', () => {
  for (const [account, style, lines] of [
    [{ api_key: 'k' }, 'responses', []],
    [{}, 'responses', ['a.api_key: not found, expected the credential of the account']],
    [{ hasCredential: true }, 'responses', []],
    [{ api_key: 'k\nk' }, 'responses', ['a.api_key: found several lines, expected one']],
    [{ cloud: KEY, api_key: 'k' }, 'responses', []],
    [{ cloud: KEY }, 'responses', ['a.api_key: not found, expected a key of the resource']],
    [
      { cloud: KEY, api_key: 'k' },
      'messages',
      ['a.cloud.kind: found "azure-openai", expected it only in a group of style responses'],
    ],
    [
      { cloud: { ...KEY, auth: 'client-secret', tenant: 't' }, api_key: 'k' },
      'responses',
      ['a.cloud.client_id: not found, expected it with azure-openai and client-secret'],
    ],
    [
      { cloud: { ...KEY, tenant: 't' }, api_key: 'k' },
      'responses',
      ['a.cloud.tenant: found a value, expected none with azure-openai and api-key'],
    ],
    [
      { cloud: { ...KEY, auth: 'managed-identity' }, api_key: 'k' },
      'responses',
      ['a.api_key: found a value, expected none; managed-identity signs in as the machine'],
    ],
  ] as const)
    assert.deepEqual(cloudErrors('a.', account, style), lines);
});

test('every way of every kind names settings once, and those that it needs', () => {
  for (const kind of ACCOUNT_KIND_NAMES)
    for (const auth of Object.keys(accountKind(kind).auths)) {
      const { needed, possible } = settingsOfCloud(kind, auth);
      assert.equal(new Set(possible).size, possible.length, `${kind} ${auth}`);
      assert.ok(needed.every((name) => possible.includes(name)));
    }
});
