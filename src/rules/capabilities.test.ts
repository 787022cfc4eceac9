import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capabilitiesOf } from './capabilities.ts';

test('generate-content models with image in their name generate images, unless the operator says otherwise', () => {
  const generates = (model: string) => capabilitiesOf('generate-content', model).imageOutput;
  for (const model of [
    'gemini-2.5-flash-image',
    'gemini-2.0-flash-preview-image-generation',
    'gemini-3-pro-image-preview',
    'gemini-3.1-flash-image@001',
    'demo-generate-image',
  ])
    assert.equal(generates(model), true, model);
  for (const model of ['gemini-2.5-flash', 'gemini-3-pro', 'demo-generate', 'imagen-4', 'gemini-imagery'])
    assert.equal(generates(model), false, model);
  assert.equal(capabilitiesOf('generate-content', 'gemini-3-pro-image', { imageOutput: false }).imageOutput, false);
  assert.equal(capabilitiesOf('generate-content', 'painter', { imageOutput: true }).imageOutput, true);
});

test('image models of the second generation have no thinking to configure', () => {
  assert.equal(capabilitiesOf('generate-content', 'gemini-2.5-flash-image').thinkingConfig, 'none');
  assert.equal(capabilitiesOf('generate-content', 'gemini-3-pro-image').thinkingConfig, 'level');
});
