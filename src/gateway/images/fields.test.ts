import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../core/index.ts';
import { ANY_IMAGES, CONTRACT_IMAGES, IMAGE_PRESETS, STANDARD_IMAGE_SIZES } from '../../rules/index.ts';
import { checkImageFields } from './fields.ts';

type Body = Readonly<Record<string, unknown>>;
const check = (body: Body) => checkImageFields(body, CONTRACT_IMAGES);

function rejection(body: Body): ApiError {
  try {
    check(body);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return assert.fail(`${JSON.stringify(body)} was accepted`);
}

/** A request that is accepted, the one value that makes it a rejected one, and the nearest valid value in the error. */
const RULES: readonly [rule: string, accepted: Body, field: string, rejected: unknown, nearest: RegExp][] = [
  ['prompt is required', { prompt: 'a lamp' }, 'prompt', undefined, /not empty/],
  ['prompt is not empty', { prompt: 'a' }, 'prompt', '', /not empty/],
  ['prompt is a string', { prompt: 'a lamp' }, 'prompt', ['a lamp'], /string/],
  ['size has the form WxH', { size: '1024x1024' }, 'size', '1024*1024', /"1024x1024"/],
  ['size is not another word', { size: 'auto' }, 'size', 'large', /"auto"/],
  ['size is not a number', { size: '1024x768' }, 'size', 1024, /"auto"/],
  ['size has no zero edge', { size: '1x1' }, 'size', '0x1', /"auto"/],
  ['size has no leading zero', { size: '1024x768' }, 'size', '01024x768', /"1024x768"/],
  ['size is within the pixel budget', { size: '3264x2448' }, 'size', '3328x2496', /"3264x2448".* 4:3/],
  ['size is within the budget at 16:9', { size: '3840x2160' }, 'size', '3841x2160', /"3840x2160".* 16:9/],
  ['size is within the budget at 9:16', { size: '2160x3840' }, 'size', '2160x3841', /"2160x3840".* 9:16/],
  ['size is within the budget at 1:1', { size: '2880x2880' }, 'size', '2881x2880', /"2880x2880".* 1:1/],
  ['quality is known', { quality: 'high' }, 'quality', 'hd', /"high"/],
  ['quality is lower case', { quality: 'low' }, 'quality', 'LOW', /"low"/],
  ['output_format is known', { output_format: 'jpeg' }, 'output_format', 'jpg', /"jpeg"/],
  ['output_format has no other', { output_format: 'webp' }, 'output_format', 'web', /"webp"/],
  [
    'output_compression is at most 100',
    { output_format: 'jpeg', output_compression: 100 },
    'output_compression',
    101,
    /use 100/,
  ],
  [
    'output_compression is at least 0',
    { output_format: 'webp', output_compression: 0 },
    'output_compression',
    -1,
    /use 0/,
  ],
  [
    'output_compression is an integer',
    { output_format: 'webp', output_compression: 50 },
    'output_compression',
    50.4,
    /use 50/,
  ],
  [
    'output_compression is a number',
    { output_format: 'webp', output_compression: 50 },
    'output_compression',
    '50',
    /use 50/,
  ],
  [
    'output_compression needs jpeg or webp',
    { output_format: 'webp', output_compression: 50 },
    'output_format',
    'png',
    /output_compression: .*"jpeg"/,
  ],
  [
    'output_compression does not fit the default format',
    { output_format: 'jpeg', output_compression: 50 },
    'output_format',
    undefined,
    /output_compression: .*"jpeg"/,
  ],
  ['background is known', { background: 'opaque' }, 'background', 'white', /"opaque"|"transparent"|"auto"/],
  [
    'background transparent does not fit jpeg',
    { background: 'transparent', output_format: 'webp' },
    'output_format',
    'jpeg',
    /background: .*"png"/,
  ],
  ['moderation is known', { moderation: 'low' }, 'moderation', 'none', /"low"/],
  ['n is at least 1', { n: 1 }, 'n', 0, /use 1/],
  ['n is an integer', { n: 2 }, 'n', 1.5, /use 2/],
  ['n is a number', { n: 2 }, 'n', '2', /use 2/],
  ['user is a string', { user: 'u1' }, 'user', 1, /string/],
  ['stream is a boolean', { stream: true }, 'stream', 'yes', /true or false/],
  ['partial_images is at most 3', { partial_images: 3 }, 'partial_images', 4, /use 3/],
];

describe('G 2: fields of image requests', () => {
  for (const [rule, fields, field, value, nearest] of RULES) {
    test(`${rule}: ${JSON.stringify(value)} is rejected, and named with the nearest valid value`, () => {
      const accepted = { prompt: 'a lamp', ...fields };
      assert.ok(check(accepted));
      const error = rejection({ ...accepted, [field]: value });
      assert.equal(error.code, 'invalid_value');
      assert.match(error.message, nearest);
      assert.equal(error.message.split(':', 1)[0], error.details.param, 'the message begins with the field');
    });
  }

  test('G 4.9: the eighteen standard and preset sizes are accepted', () => {
    const sizes = new Set([
      ...STANDARD_IMAGE_SIZES,
      ...Object.values(IMAGE_PRESETS).flatMap((row) => Object.values(row)),
    ]);
    assert.equal(sizes.size, 18);
    for (const size of sizes) assert.equal(check({ prompt: 'a lamp', size }).size, size);
  });

  test('G 4.9 r1: other sizes within the budget are accepted', () => {
    for (const size of ['1x1', '1040x1040', '99999x82']) assert.equal(check({ prompt: 'a lamp', size }).size, size);
  });

  test('G 4.9 r2: a size of exactly 8,294,400 pixels is accepted, and a larger one is not', () => {
    assert.equal(check({ prompt: 'a lamp', size: '3840x2160' }).size, '3840x2160');
    assert.equal(rejection({ prompt: 'a lamp', size: '8294401x1' }).details.param, 'size');
  });

  test('G 4.9 r3: the error of a size above the budget says so', () => {
    const { message, details } = rejection({ prompt: 'a lamp', size: '3328x2496' });
    assert.match(message, /the requested resolution exceeds the current pixel budget: .*8,306,688.*8,294,400/);
    assert.equal(details.param, 'size');
  });

  test('null is the same as leaving a field out', () => {
    const nothing = Object.fromEntries(RULES.map(([, , field]) => [field, null]));
    assert.deepEqual(check({ ...nothing, prompt: 'a lamp' }), check({ prompt: 'a lamp' }));
  });

  test('an error shows a bounded part of a value', () => {
    assert.ok(rejection({ prompt: 'a lamp', quality: 'x'.repeat(10_000) }).message.length < 200);
  });
});

describe('models with values of their own', () => {
  const OPEN: readonly Body[] = [
    { quality: 'xhigh' },
    { quality: 'max' },
    { output_format: 'gif' },
    { output_format: 'svg', background: 'transparent' },
    { size: '2K' },
    { size: '4096x4096' },
    { moderation: 'strict' },
    { background: 'blurred' },
    { n: 15 },
    // The provider may not make png files by default.
    { output_compression: 50 },
  ];
  for (const fields of OPEN) {
    const body = { prompt: 'a lamp', ...fields };
    test(`${JSON.stringify(fields)} passes for a model that no row knows`, () => {
      assert.ok(checkImageFields(body, ANY_IMAGES));
    });
  }

  test('a list of the operator replaces the values of the contract', () => {
    const model = {
      ...CONTRACT_IMAGES,
      imageQualities: ['max'],
      imageSizes: ['2K'],
      imagePixels: 2 ** 24,
      maxImages: 4,
    };
    for (const fields of [{ quality: 'max' }, { size: '2K' }, { size: '4096x4096' }, { n: 4 }])
      assert.ok(checkImageFields({ prompt: 'a lamp', ...fields }, model), JSON.stringify(fields));
    for (const [fields, message] of [
      [{ quality: 'high' }, 'quality: expected max, found "high"; use "max".'],
      [{ size: '3K' }, 'size: expected auto, 2K, or width and height such as 1024x1024, found "3K"; use "auto".'],
      [{ n: 5 }, 'n: expected a whole number from 1 to 4, found 5; use 4.'],
    ] as const)
      assert.throws(() => checkImageFields({ prompt: 'a lamp', ...fields }, model), { message });
  });

  test('a value that only the provider knows is a short word, because usage records name it', () => {
    for (const fields of [{ size: 'x'.repeat(33) }, { quality: 'a/b' }, { size: 7 }, { output_format: '' }])
      assert.throws(
        () => checkImageFields({ prompt: 'a lamp', ...fields }, ANY_IMAGES),
        ApiError,
        JSON.stringify(fields),
      );
  });
});
