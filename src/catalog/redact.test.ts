import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf, LINEAR_GROWTH } from '../../test/support/cpu-time.ts';
import { publicMessage, redact } from './redact.ts';

const ACCOUNT = { credential: 'cred$&.*+(x)/==', baseUrl: 'https://eu.provider.example:8443/proxy/v1' };

test('redact removes the credential everywhere, whatever characters it has', () => {
  assert.equal(
    redact(`key ${ACCOUNT.credential}, again ${ACCOUNT.credential}.`, { account: ACCOUNT }),
    'key [redacted], again [redacted].',
  );
});

test('redact removes every form of the base URL', () => {
  for (const form of [
    'https://eu.provider.example:8443/proxy/v1',
    'https://eu.provider.example:8443',
    'eu.provider.example:8443',
    'eu.provider.example',
  ]) {
    assert.equal(redact(`POST ${form} failed`, { account: ACCOUNT }), 'POST [redacted] failed', form);
  }
});

test("redact removes provider keys that are not the account's", () => {
  for (const key of [
    'sk-proj-0123456789abcdef',
    'sk-ant-api03-0123456789abcdef',
    'AIzaSyA0123456789abcdef',
    'dg-0123456789abcdefghij',
    'gsk-0123456789abcdefghij',
    'xai-0123456789abcdefghij',
    'AKTP0123456789abcdefghij',
    'AKIA0123456789ABCDEF',
  ]) {
    assert.equal(
      redact(`Incorrect API key provided: ${key}.`, { account: ACCOUNT }),
      'Incorrect API key provided: [redacted].',
    );
  }
});

test("redact removes ids of the operator's organisation and project", () => {
  for (const [text, clean] of [
    [
      'Rate limit in organization org-AbCdEfGhIjKlMnOpQrStUvWx on tokens',
      'Rate limit in organization [redacted] on tokens',
    ],
    ['Project proj_AbCdEfGhIjKlMnOpQrStUvWx has no access', 'Project [redacted] has no access'],
    ['Customer acct_AbCdEfGhIjKlMnOpQrStUvWx', 'Customer [redacted]'],
    ['consumer "projects/123456789012"', 'consumer "projects/[redacted]"'],
    ['arn:aws:bedrock:eu-central-1:123456789012:model/x', 'arn:aws:bedrock:eu-central-1:[redacted]:model/x'],
    ['the account 2100123456 is overdue', 'the account [redacted] is overdue'],
    ['{"account_id":"2100123456"}', '{"account_id":"[redacted]"}'],
    ['2100123456 tokens of your account', '2100123456 tokens of your account'],
    ['an org-specific rule of proj_short', 'an org-specific rule of proj_short'],
  ] as const)
    assert.equal(redact(text, { account: ACCOUNT }), clean);
});

test("redact removes the ids of the operator at a cloud, and keeps the cloud's regions and versions", () => {
  const azure = {
    ...ACCOUNT,
    cloud: {
      kind: 'azure-openai',
      auth: 'client-secret',
      tenant: '72f988bf-86f1-41af-91ab-2d7cd011db47',
      client_id: '11111111-2222-3333-4444-555555555555',
      api_version: '2024-10-21',
    },
  } as const;
  assert.equal(
    redact(`No ${azure.cloud.client_id} in ${azure.cloud.tenant} for 2024-10-21`, { account: azure }),
    'No [redacted] in [redacted] for 2024-10-21',
  );
  const google = {
    ...ACCOUNT,
    cloud: { kind: 'vertex', auth: 'service-account', project: 'zebra-project-1', location: 'europe-west1' },
  } as const;
  assert.equal(
    redact('projects/zebra-project-1/locations/europe-west1: denied', { account: google }),
    'projects/[redacted]/locations/europe-west1: denied',
  );
});

test('redact keeps all other text, because clients match on it', () => {
  for (const text of [
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    'tools.0.name: skip_validation_and_continue_anyway is not allowed',
    '{"error":{"type":"invalid_request_error","message":"sk-short and task-0123456789abcdef"}}',
    'dgram_socket_connection_failed, provider.example says',
  ]) {
    assert.equal(redact(text, { account: ACCOUNT }), text);
  }
});

test('redact keeps ordinary words that equal a short key or host', () => {
  const local = { credential: 'x', baseUrl: 'http://api/v1' };
  assert.equal(
    redact('api_error: exceeded at http://api/v1/chat (x)', { account: local }),
    'api_error: exceeded at [redacted]/chat (x)',
  );
});

const VIDEO_ACCOUNT = {
  id: 'film-main-1',
  credential: 'ark-5f0c/+b3a==/zebra',
  baseUrl: 'https://ark.provider.example/api/v3',
  proxy: 'http://gate-keeper:pa%2Fss-word@proxy.internal.example:3128',
  resultHosts: ['*.store.example'],
  models: new Map([['film-2', 'ep-20260101-abcde']]),
  assets: {
    baseUrl: 'https://open.assets.example',
    accessKey: 'AKLTzebra0123456789',
    secretKey: 'T0d/zebra+secret==',
    region: 'north',
    project: 'film_project-7',
  },
};
const TOKEN = 'mQ2xk9-zebraTokenOfThisTask_0001';
const OBJECT = {
  account: VIDEO_ACCOUNT,
  model: { name: 'our-film', upstream: 'film-2' },
  values: [TOKEN, 'f3a1c0ffee0123456789abcdef012345', undefined, null, 'x'],
};

/** Each secret, and what is left of it. Model names become the caller's. */
const PLANTED: Readonly<Record<string, readonly [secret: string, left: string]>> = {
  credential: [VIDEO_ACCOUNT.credential, '[redacted]'],
  'the beginning of the credential': [VIDEO_ACCOUNT.credential.slice(0, 14), '[redacted]'],
  'access key': [VIDEO_ACCOUNT.assets.accessKey, '[redacted]'],
  'secret key': [VIDEO_ACCOUNT.assets.secretKey, '[redacted]'],
  'an access key of another account': ['AKLTabcdefghijklmnop', '[redacted]'],
  'access token of Google': ['ya29.A0ARrdaM_0123456789-abcdef', '[redacted]'],
  'JSON web token': ['eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ6ZWJyYSJ9.c2lnbmF0dXJl', '[redacted]'],
  'base URL': [VIDEO_ACCOUNT.baseUrl, '[redacted]'],
  host: ['ark.provider.example', '[redacted]'],
  'host of the assets': ['open.assets.example', '[redacted]'],
  'host of results': ['bucket-7.store.example', '[redacted]'],
  'host of the proxy': ['proxy.internal.example', '[redacted]'],
  'user of the proxy': ['gate-keeper', '[redacted]'],
  'password of the proxy': ['pa/ss-word', '[redacted]'],
  'callback token': [TOKEN, '[redacted]'],
  'callback path of another task': ['/upstream/callbacks/AbCdEfGh01234567', '[redacted]'],
  'return path of a session': ['/return/real-person/AbCdEfGh01234567', '[redacted]'],
  'safety identifier': ['f3a1c0ffee0123456789abcdef012345', '[redacted]'],
  'model of the catalog': ['film-2', 'our-film'],
  'model of the account': ['ep-20260101-abcde', 'our-film'],
  'id of the account': ['film-main-1', '[redacted]'],
  project: ['film_project-7', '[redacted]'],
};

const upperCase = (secret: string): string => secret.toUpperCase();
const everyByte = (secret: string): string =>
  [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const SPELLINGS: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'URL-encoded': encodeURIComponent,
  'URL-encoded byte by byte': everyByte,
  'URL-encoded twice': (secret) => encodeURIComponent(encodeURIComponent(secret)),
  'escaped in JSON': (secret) => JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/'),
  'escaped in JSON by code': (secret) =>
    secret.replaceAll(/[^A-Za-z0-9]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
};

test('redact removes each secret in each spelling, and keeps the text around it', () => {
  for (const [name, [secret, left]] of Object.entries(PLANTED))
    for (const [how, spell] of Object.entries(SPELLINGS)) {
      assert.equal(
        redact(`The call (${spell(secret)}) failed`, OBJECT),
        `The call (${left}) failed`,
        `${name}, ${how}`,
      );
    }
});

test('redact finds hosts, paths and model names in any case', () => {
  for (const name of ['base URL', 'host', 'host of results', 'callback path of another task', 'model of the account']) {
    const [secret, left] = PLANTED[name] ?? ['', ''];
    assert.equal(redact(`At ${upperCase(secret)}.`, OBJECT), `At ${left}.`, name);
  }
});

test('redact removes a key that the provider masked, and no other asterisks', () => {
  const account = { credential: 'sk-proj-zebra0123456789wxyz', baseUrl: 'https://api.example' };
  for (const masked of ['sk-proj-*****wxyz', 'sk-p...wxyz', 'sk-proj-ze\u2026', '****wxyz'])
    assert.equal(redact(`Key ${masked} is wrong`, { account }), 'Key [redacted] is wrong', masked);
  for (const text of ['a *** b', 'sk-live-****abcd', 'and so on...', 'wait...now', '**bold***text'])
    assert.equal(redact(text, { account }), text);
});

test("redact keeps longer names that contain the model's, and the caller's own name", () => {
  const secrets = { account: ACCOUNT, model: { name: 'azure/gpt-5', upstream: 'gpt-5' } };
  assert.equal(
    redact('models/gpt-5 and azure/gpt-5 and my-gpt-5 and gpt-55', secrets),
    'models/azure/gpt-5 and azure/gpt-5 and my-gpt-5 and gpt-55',
  );
  const word = { account: ACCOUNT, model: { name: 'ours', upstream: 'default' } };
  assert.equal(redact('use the default value', word), 'use the default value');
  const quoted = { account: ACCOUNT, model: { name: 'a"b', upstream: 'gpt-5' } };
  assert.deepEqual(JSON.parse(redact('{"message":"gpt-5 failed"}', quoted)), { message: 'a"b failed' });
});

test('redact takes linear time', () => {
  for (const unit of ['a', '%2f', '\\', '*']) {
    const growth = growthOf((size) => {
      const text = Buffer.alloc(size, unit).toString();
      return () => redact(text, OBJECT);
    }, 1 << 14);
    assert.ok(growth < LINEAR_GROWTH, `${unit}: ${growth}`);
  }
});

test('publicMessage takes linear time', () => {
  for (const unit of ['a', 'a.', 'doubao-']) {
    const growth = growthOf((size) => {
      const text = Buffer.alloc(size, unit).toString();
      return () => publicMessage(text, OBJECT);
    }, 1_000);
    assert.ok(growth < LINEAR_GROWTH, `${unit}: ${growth}`);
  }
});

test('publicMessage hides ids of the provider and of another Dragoman', () => {
  assert.equal(publicMessage('asset_7Hq2bVxN4sKd9wRtYc3mZp is not ready.', OBJECT), '[id] is not ready.');
  assert.equal(publicMessage('asset-20260101 is gone. Request id: 1', OBJECT), '[id] is gone.');
  for (const prefix of ['ep-', 'cgt-', 'asset-', 'group-', 'proj-', 'acc-'])
    assert.equal(publicMessage(`${prefix}20260101 failed`, OBJECT), '[id] failed', prefix);
  for (const prefix of ['task_', 'asset_', 'assetgrp_', 'authsess_', 'char_'])
    assert.equal(publicMessage(`${prefix}7Hq2bVxN4sKd failed`, OBJECT), '[id] failed', prefix);
  assert.equal(publicMessage('asset_type: unknown.', OBJECT), 'asset_type: unknown.');
  assert.equal(publicMessage('x'.repeat(600), OBJECT).length, 500);
});

test("publicMessage hides addresses and models of the video provider, and keeps the caller's own model", () => {
  const model = { name: 'seedance-own', upstream: 'ep-1' };
  const text =
    'The model doubao-seedance-2-0-260128 is not open; see https://console.volcengine.com/ark/region:x or seedance-own.';
  assert.equal(
    publicMessage(text, { ...OBJECT, model }),
    'The model [redacted] is not open; see [redacted]:x or seedance-own.',
  );
});
