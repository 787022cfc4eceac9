import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mistakenBaseUrl } from './base-urls.ts';

const AZURE = 'https://my-resource.openai.azure.com';
const VERTEX = 'https://europe-west1-aiplatform.googleapis.com';
const BEDROCK = 'https://bedrock-runtime.eu-central-1.amazonaws.com';

test('base URLs of clouds are taken as their guides show them', () => {
  for (const path of ['', '/', '/openai', '/openai/v1/', '/team-a/openai'])
    assert.equal(mistakenBaseUrl('azure-openai', AZURE + path), undefined, path);
  assert.equal(mistakenBaseUrl('vertex', VERTEX), undefined);
  assert.equal(mistakenBaseUrl('bedrock', `${BEDROCK}/proxied`), undefined);
});

test('base URLs of clouds with a part of an endpoint get the address that was meant', () => {
  for (const path of ['/v1', '/openai/v1/responses', '/openai/deployments/my-gpt-5'])
    assert.deepEqual(mistakenBaseUrl('azure-openai', AZURE + path), {
      meant: AZURE,
      calls: `${AZURE}${path}/openai/v1/responses`,
    });
  assert.equal(mistakenBaseUrl('vertex', `${VERTEX}/v1/projects/p/locations/l`)?.meant, VERTEX);
  assert.equal(mistakenBaseUrl('bedrock', `${BEDROCK}/model/eu.anthropic.claude/invoke`)?.meant, BEDROCK);
});
