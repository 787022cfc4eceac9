import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShownAccount } from '../../../src/schemas/index.ts';
import { changesOf, mapText } from './account-changes.ts';

const ACCOUNT = {
  id: 'oa1',
  base_url: 'https://host.net/v1',
  proxy: 'http://proxy.net:3128',
  weight: 1,
  priority: 0,
  max_concurrency: 64,
  cost_multiplier: '1',
  features: ['chat'],
  preset: null,
  capabilities: {},
  models: { a: 'b' },
} satisfies Partial<ShownAccount>;

/** The form as it opens. */
const SAME = {
  base_url: ACCOUNT.base_url,
  weight: 1,
  priority: 0,
  max_concurrency: 64,
  cost_multiplier: '1',
  features: ['chat'],
  preset: 'auto',
  models: mapText(ACCOUNT.models),
};

test('changesOf sends nothing for a form that was left as it is', () => {
  assert.deepEqual(changesOf(ACCOUNT, SAME), {});
});

test('changesOf sends what differs, an emptied map, and a credential that was entered', () => {
  const { models: _, ...others } = SAME;
  const values = { ...others, weight: 3, preset: 'vllm', api_key: 'sk-new', capabilities: '{"urlMedia":false}' };
  assert.deepEqual(changesOf(ACCOUNT, values), {
    weight: 3,
    preset: 'vllm',
    models: {},
    capabilities: { urlMedia: false },
    api_key: 'sk-new',
  });
  assert.deepEqual(changesOf(ACCOUNT, { ...SAME, models: 'a = b\n c=d ' }), { models: { a: 'b', c: 'd' } });
});

test('changesOf removes a limit that was emptied', () => {
  const limited = { ...ACCOUNT, rpm: 60, cost_day: '5' };
  assert.deepEqual(changesOf(limited, { ...SAME, rpm: 60, cost_day: '5' }), {});
  assert.deepEqual(changesOf(limited, { ...SAME, rpm: 90 }), { rpm: 90, cost_day: null });
  assert.deepEqual(changesOf(ACCOUNT, { ...SAME, max_concurrency: undefined }), { max_concurrency: null });
});

test('changesOf names a malformed line of the map, and malformed JSON', () => {
  assert.throws(() => changesOf(ACCOUNT, { ...SAME, models: 'only-a-name' }), /only-a-name/);
  assert.throws(() => changesOf(ACCOUNT, { ...SAME, capabilities: '{' }), /JSON/);
});
