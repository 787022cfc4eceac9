import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dataUrl, examine, FILLED, IMAGE_STARTS, imageItem, taskBody } from '../../../test/support/video-request.ts';
import { buffersOf, fillTemplate, type TemplateValues } from './upstream-template.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.string({ unit: 'binary', minLength: 1_000, maxLength: 2_000 }),
  fc.string({ minLength: 1_100, maxLength: 1_200 }),
);
const imageUrl = fc.oneof(
  fc.constantFrom('asset://asset_1', 'asset://char_2', 'https://media.example.com/a.png'),
  fc
    .uint8Array({ maxLength: 2_000 })
    .map((bytes) => dataUrl('image/gif', Buffer.concat([IMAGE_STARTS.gif ?? Buffer.alloc(0), bytes]))),
);
const item = fc.oneof(
  text.map((value) => ({ type: 'text', text: value })),
  imageUrl.map((url) => imageItem('reference_image', url)),
);
const parameters = fc.record(
  {
    duration: fc.constantFrom(-1, 4, 15),
    resolution: fc.constantFrom('480p', '1080p'),
    ratio: fc.constantFrom('16:9', 'adaptive'),
    seed: fc.integer({ min: -1, max: 4_294_967_295 }),
    generate_audio: fc.boolean(),
    watermark: fc.boolean(),
    return_last_frame: fc.boolean(),
    service_tier: fc.constant('default'),
    execution_expires_after: fc.integer({ min: 3_600, max: 259_200 }),
    tools: fc.array(fc.constant({ type: 'web_search' }), { minLength: 1, maxLength: 16 }),
    callback_url: fc.constant('https://hooks.example.com/x'),
  },
  { requiredKeys: [] },
);
const values = fc.record({
  model: fc.string({ unit: 'binary', minLength: 1 }),
  callbackUrl: fc.option(fc.constant('https://gateway.example.com/"x"'), { nil: undefined }),
  safetyIdentifier: fc.option(fc.string(), { nil: undefined }),
});

/** The upstream body as a serialiser would write it. */
function naiveBody(body: Record<string, unknown>, filled: TemplateValues): unknown {
  const { content, service_tier, callback_url, ...rest } = body;
  const items = (content as Record<string, unknown>[]).map((entry, index) => {
    const url = (entry.image_url as { url: string } | undefined)?.url;
    return url?.startsWith('asset://')
      ? { ...entry, image_url: { url: `asset://${filled.assets.get(index)}` } }
      : entry;
  });
  return {
    ...rest,
    model: filled.model,
    content: items,
    ...(filled.callbackUrl !== undefined && { callback_url: filled.callbackUrl }),
    ...(filled.safetyIdentifier !== undefined && { safety_identifier: filled.safetyIdentifier }),
  };
}

test('fillTemplate writes the same JSON as a serialiser', () => {
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 9 }), parameters, values, (content, given, holes) => {
      const body = taskBody({ ...given, content });
      const examination = examine(body);
      assert.ok(examination.kind === 'parsed' && examination.result && 'upstream' in examination.result);
      const filled = { ...FILLED, ...holes };
      const sent = Buffer.concat(fillTemplate(examination.result.upstream, filled)).toString();
      assert.deepEqual(JSON.parse(sent), JSON.parse(JSON.stringify(naiveBody(body, filled))));
    }),
  );
});

/** The template of an image of 2 MB. */
function largeTemplate() {
  const image = Buffer.concat([IMAGE_STARTS.png ?? Buffer.alloc(0), Buffer.alloc(2 ** 21)]);
  const bytes = Buffer.from(JSON.stringify(taskBody({ content: [imageItem(undefined, dataUrl('image/png', image))] })));
  const examination = examine(bytes);
  assert.ok(examination.kind === 'parsed' && examination.result && 'upstream' in examination.result);
  return { bytes, template: examination.result.upstream };
}

test('a template keeps inline media in the memory of the body, and its own memory is small', () => {
  const { bytes, template } = largeTemplate();
  const [large, ...others] = buffersOf(template).sort((one, other) => other.byteLength - one.byteLength);
  assert.equal(large, bytes.buffer);
  assert.ok(others.every(({ byteLength }) => byteLength < 1_000));
  assert.ok(fillTemplate(template, FILLED).some(({ buffer }) => buffer === bytes.buffer));
});

test('fillTemplate can be repeated for another account, and after the template was transferred', () => {
  const { template } = largeTemplate();
  const first = Buffer.concat(fillTemplate(template, FILLED));
  assert.deepEqual(Buffer.concat(fillTemplate(template, FILLED)), first);
  const moved = structuredClone(template, { transfer: buffersOf(template) });
  assert.deepEqual(Buffer.concat(fillTemplate(moved, FILLED)), first);
});

test('fillTemplate throws when a reference has no upstream id', () => {
  const examination = examine(taskBody({ content: [imageItem(undefined, 'asset://asset_1')] }));
  assert.ok(examination.kind === 'parsed' && examination.result && 'upstream' in examination.result);
  const { upstream } = examination.result;
  assert.throws(() => fillTemplate(upstream, { ...FILLED, assets: new Map() }), /no upstream asset/);
});
