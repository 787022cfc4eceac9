import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  audioItem,
  codeOf,
  examine,
  imageItem,
  TEXT,
  taskBody,
  URL_TEXT,
  VARIANTS_B,
  verdictOf,
  videoItem,
  withItems,
} from '../../../test/support/video-request.ts';
import { VIDEO_VARIANTS, videoCapabilitiesOf } from '../../rules/index.ts';
import { examineTaskBody } from './examine.ts';

const INVALID = 'invalid_request';
const UNSUPPORTED = 'unsupported_video_parameter';

/** Expects one code for a parameter on the given variants. */
function expectParameter(
  name: string,
  values: readonly unknown[],
  code: string,
  variants: readonly ('A' | 'EP' | 'HC')[],
) {
  for (const variant of variants)
    for (const value of values)
      assert.equal(
        codeOf(taskBody({ [name]: value }), { variant }),
        code,
        `${variant} ${name} ${JSON.stringify(value)}`,
      );
}

test('V 4 unknown: an unknown field is invalid at the top level, in an item, in a payload and in a tool', () => {
  for (const variant of VIDEO_VARIANTS) assert.equal(codeOf(taskBody({ durations: 5 }), { variant }), INVALID);
  const { error } = verdictOf(examine(taskBody({ foo: 1 })));
  assert.deepEqual(error, { code: INVALID, message: 'foo: unknown; remove it or check its spelling.', param: 'foo' });
  const cases = [
    [withItems({ ...TEXT, foo: 1 }), 'content[0].foo'],
    [withItems({ type: 'image_url', image_url: { url: URL_TEXT, detail: 'high' } }), 'content[0].image_url.detail'],
    [taskBody({ tools: [{ type: 'web_search', x: 1 }] }), 'tools[0].x'],
  ] as const;
  for (const [body, param] of cases) {
    const { error } = verdictOf(examine(body));
    assert.equal(error?.code, INVALID);
    assert.equal(error?.param, param);
  }
});

test('V 4 form: a body that is not a JSON object is malformed', () => {
  for (const body of [
    '',
    ' ',
    '[]',
    '"x"',
    'null',
    '1',
    '{',
    '{"model":"x"',
    '{"a":1}{}',
    '{a:1}',
    '\u0000',
    '{"a":"\n"}',
  ]) {
    const examination = examine(body);
    assert.equal(examination.kind, 'malformed', body);
    assert.equal(verdictOf(examination).error?.code, INVALID);
  }
  assert.equal(examine(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])).kind, 'malformed');
  assert.equal(examine(`{"a":${'['.repeat(200)}${']'.repeat(200)}}`).kind, 'malformed');
  assert.equal(examine(`{"a":[${'0,'.repeat(20_000)}0]}`).kind, 'malformed');
});

test('V 4 form: a multipart body is malformed, and the message asks for JSON', () => {
  const { error } = verdictOf(
    examine('--boundary\r\ncontent-disposition: form-data; name="model"\r\n\r\nx\r\n--boundary--'),
  );
  assert.equal(error?.code, INVALID);
  assert.match(error?.message ?? '', /JSON/);
});

test('V 4 form: a byte order mark and white space around the body are accepted', () => {
  assert.equal(codeOf(`\ufeff \n${JSON.stringify(taskBody())}\r\n`), 'ok');
});

test('V 4 form: a member that occurs twice and __proto__ are malformed at any depth', () => {
  const cases = [
    ['{"model":"x","model":"x","content":[]}', 'model'],
    ['{"model":"x","mod\\u0065l":"x"}', 'model'],
    ['{"model":"x","content":[{"type":"text","text":"a","text":"b"}]}', 'content[0].text'],
    ['{"__proto__":{},"model":"x"}', '__proto__'],
    ['{"model":"x","content":[{"__proto__":1}]}', 'content[0].__proto__'],
    ['{"\\u005f_proto__":{}}', '__proto__'],
  ] as const;
  for (const [body, param] of cases) {
    const examination = examine(body);
    assert.equal(examination.kind, 'malformed', body);
    assert.equal(verdictOf(examination).error?.param, param);
  }
});

test('V 4 order: model, unknown field, field, content, combination and reference are reported in this order', () => {
  const faults = {
    reference: imageItem('reference_image', 'asset://nope'),
    combination: imageItem('first_frame'),
    content: { type: 'nope' },
  };
  const step = (members: object) => verdictOf(examine({ model: 'm', content: [TEXT], ...members })).error?.param;
  assert.equal(step({ content: [faults.reference] }), 'content[0].image_url.url');
  assert.equal(step({ content: [faults.reference, faults.combination] }), 'content[0].role');
  assert.equal(step({ content: [faults.reference, faults.combination, faults.content] }), 'content[2].type');
  assert.equal(step({ content: [faults.content], duration: 3 }), 'duration');
  assert.equal(step({ content: [faults.content], duration: 3, foo: 1 }), 'foo');
  assert.equal(step({ model: '', content: [faults.content], duration: 3, foo: 1 }), 'model');
});

test('V 4 null: null is invalid for a supported field and unsupported for an unsupported one', () => {
  const supported = [
    'duration',
    'resolution',
    'ratio',
    'generate_audio',
    'watermark',
    'return_last_frame',
    'callback_url',
  ];
  for (const name of supported) expectParameter(name, [null], INVALID, VIDEO_VARIANTS);
  for (const name of ['frames', 'seed', 'service_tier', 'execution_expires_after', 'tools']) {
    expectParameter(name, [null], INVALID, ['A']);
    expectParameter(name, [null], UNSUPPORTED, VARIANTS_B);
  }
  for (const name of ['camera_fixed', 'draft', 'priority']) expectParameter(name, [null], UNSUPPORTED, VIDEO_VARIANTS);
});

test('V 4.1 items: content is an array of 1 to 64 items', () => {
  for (const content of [undefined, null, {}, 'text', 1, [], Array(65).fill(TEXT)])
    assert.equal(codeOf(taskBody({ content })), INVALID, JSON.stringify(content)?.slice(0, 40));
  for (const count of [1, 64])
    for (const variant of VIDEO_VARIANTS)
      assert.equal(codeOf(taskBody({ content: Array(count).fill(TEXT) }), { variant }), 'ok');
});

test('V 4.1 items: an item needs a known type', () => {
  for (const item of [
    null,
    'x',
    [],
    {},
    { text: 'x' },
    { type: 'draft_task' },
    { type: 1 },
    { type: 'TEXT', text: 'x' },
  ])
    assert.equal(codeOf(withItems(item)), INVALID, JSON.stringify(item));
  for (const type of ['__proto__', 'constructor', 'toString'])
    assert.equal(codeOf(withItems({ type, [`x${type}`]: {} })), INVALID, type);
});

test('V 4.1 text: a text is a string that is not empty, and needs no other item', () => {
  for (const item of [
    { type: 'text' },
    { type: 'text', text: 1 },
    { type: 'text', text: '' },
    { type: 'text', text: null },
  ])
    assert.equal(codeOf(withItems(item)), INVALID, JSON.stringify(item));
  for (const variant of VIDEO_VARIANTS) assert.equal(codeOf(withItems(TEXT), { variant }), 'ok');
});

test('V 4.1 text: a role on a text is unsupported', () => {
  for (const role of ['reference_image', 'x', null, 1])
    assert.equal(codeOf(withItems({ ...TEXT, role })), UNSUPPORTED, String(role));
});

test('V 4.1 payload: the payload of another type is invalid, beside the own one or instead of it', () => {
  const image = { url: URL_TEXT };
  for (const item of [
    { type: 'image_url', image_url: image, video_url: image },
    { type: 'image_url', video_url: image },
    { type: 'video_url', image_url: image, role: 'reference_video' },
    { type: 'text', text: 'x', image_url: image },
    { type: 'image_url', image_url: image, text: 'x' },
  ])
    assert.equal(codeOf(withItems(item)), INVALID, JSON.stringify(item));
});

test('V 4.1 payload: a media payload is an object with a string as url', () => {
  for (const type of ['image_url', 'video_url', 'audio_url'])
    for (const payload of [URL_TEXT, {}, { url: 1 }, { url: null }, null, [], undefined])
      assert.equal(codeOf(withItems({ type, [type]: payload })), INVALID, `${type} ${JSON.stringify(payload)}`);
});

test('V 4.1 role: an image is a reference, a first frame, or a last frame beside a first one', () => {
  for (const variant of VIDEO_VARIANTS) {
    assert.equal(codeOf(withItems(imageItem('reference_image')), { variant }), 'ok');
    assert.equal(codeOf(withItems(imageItem('first_frame')), { variant }), 'ok');
    assert.equal(codeOf(withItems(imageItem('first_frame'), imageItem('last_frame')), { variant }), 'ok');
  }
});

test('V 4.1 role: a video and an audio have one role each', () => {
  const image = imageItem('reference_image');
  for (const variant of VIDEO_VARIANTS) {
    assert.equal(codeOf(withItems(image, videoItem(), audioItem()), { variant }), 'ok');
    for (const role of ['first_frame', 'last_frame', 'reference_image', 'reference_audio'])
      assert.equal(codeOf(withItems(videoItem(role)), { variant }), UNSUPPORTED, role);
    for (const role of ['first_frame', 'reference_image', 'reference_video'])
      assert.equal(codeOf(withItems(image, audioItem(role)), { variant }), UNSUPPORTED, role);
    assert.equal(codeOf(withItems(imageItem('reference_video')), { variant }), UNSUPPORTED);
  }
});

test('V 4.1 role: an unknown role is unsupported, and a role that is not a string is invalid', () => {
  for (const role of ['middle_frame', 'FIRST_FRAME', '', 'x'.repeat(5_000)])
    assert.equal(codeOf(withItems({ ...imageItem(), role })), UNSUPPORTED, role.slice(0, 20));
  for (const role of [1, null, {}, ['first_frame']])
    assert.equal(codeOf(withItems({ ...imageItem(), role })), INVALID, JSON.stringify(role));
});

test('V 4.1 role: a lone image without a role becomes the first frame upstream', () => {
  for (const variant of VIDEO_VARIANTS) {
    const { upstream } = verdictOf(examine(withItems(TEXT, imageItem()), { variant }));
    assert.deepEqual(upstream?.content, [TEXT, { ...imageItem('first_frame') }]);
  }
});

test('V 4.1 role: of several images each needs a role, and so do a video and an audio', () => {
  for (const items of [
    [imageItem(), imageItem()],
    [imageItem('first_frame'), imageItem()],
    [imageItem(), imageItem('last_frame')],
    [{ type: 'video_url', video_url: { url: URL_TEXT } }],
    [imageItem('reference_image'), { type: 'audio_url', audio_url: { url: URL_TEXT } }],
  ])
    assert.equal(codeOf(withItems(...items)), INVALID, JSON.stringify(items));
});

test('V 4.1 address: images, videos and audios accept public URLs and assets; only images accept characters', () => {
  const image = imageItem('reference_image');
  for (const variant of VIDEO_VARIANTS) {
    for (const url of [`${URL_TEXT}.png`, 'asset://asset_9aZ', 'asset://char_9aZ'])
      assert.equal(codeOf(withItems(imageItem('reference_image', url)), { variant }), 'ok', url);
    for (const url of [URL_TEXT, 'asset://asset_9aZ']) {
      assert.equal(codeOf(withItems(videoItem(undefined, url)), { variant }), 'ok', url);
      assert.equal(codeOf(withItems(image, audioItem(undefined, url)), { variant }), 'ok', url);
    }
  }
});

test('V 4.1 address: other schemes, bare Base64 and private hosts are invalid', () => {
  const addresses = [
    'http://media.example.com/a',
    'ftp://media.example.com/a',
    'file:///etc/passwd',
    'media.example.com/a',
    '//media.example.com/a',
    'iVBORw0KGgo=',
    '',
    ' ',
    'https://localhost/a',
    'https://127.0.0.1/a',
    'https://[::1]/a',
    'https://10.0.0.1/a',
    'https://169.254.169.254/latest',
    'https://8.8.8.8/a',
    'https://intranet/a',
    'https://printer.local/a',
    'https://db.internal/a',
    'https://user:pass@media.example.com/a',
    'https://user@media.example.com/a',
    'https://media.example.com:8443/a',
    `https://media.example.com/${'a'.repeat(2_048)}`,
    'a'.repeat(100_000),
  ];
  for (const url of addresses) {
    for (const item of [imageItem('reference_image', url), videoItem(undefined, url), audioItem(undefined, url)])
      assert.equal(codeOf(withItems(item)), INVALID, url.slice(0, 60));
    expectParameter('callback_url', [url], INVALID, VIDEO_VARIANTS);
  }
});

test('V 4.1 address: a URL of an allowed origin passes although it is not public', () => {
  const bytes = Buffer.from(JSON.stringify(withItems(imageItem(undefined, 'http://127.0.0.1:9000/a.png'))));
  const target = { variant: 'A', capabilities: videoCapabilitiesOf('A') } as const;
  assert.ok(verdictOf(examineTaskBody(bytes, 'tasks', target)).error);
  const allowedOrigins = ['http://127.0.0.1:9000'];
  assert.ok(verdictOf(examineTaskBody(bytes, 'tasks', { ...target, allowedOrigins })).request);
});

test('V 4.1 address: public URLs are listed with their item and normalised for the provider', () => {
  const body = withItems(TEXT, imageItem('reference_image', 'HTTPS://Media.Example.com/ä'), videoItem());
  const { request, upstream } = verdictOf(examine(body));
  assert.deepEqual(request?.publicUrls, [
    { index: 1, param: 'content[1].image_url.url', url: 'https://media.example.com/%C3%A4' },
    { index: 2, param: 'content[2].video_url.url', url: `${URL_TEXT}.mp4` },
  ]);
  assert.deepEqual(upstream?.content?.[1], imageItem('reference_image', 'https://media.example.com/%C3%A4'));
});

test('V 4.1 audio: more than 3 audios are unsupported on all variants', () => {
  const image = imageItem('reference_image');
  for (const variant of VIDEO_VARIANTS) {
    assert.equal(codeOf(withItems(image, ...Array(3).fill(audioItem())), { variant }), 'ok');
    assert.equal(codeOf(withItems(image, ...Array(4).fill(audioItem())), { variant }), UNSUPPORTED);
  }
});

test('V 4.1 audio: on B an audio needs a reference image or video; on A it may be the only reference', () => {
  for (const variant of VARIANTS_B) {
    assert.equal(codeOf(withItems(TEXT, audioItem()), { variant }), UNSUPPORTED);
    assert.equal(codeOf(withItems(audioItem()), { variant }), UNSUPPORTED);
    assert.equal(codeOf(withItems(imageItem('reference_image'), audioItem()), { variant }), 'ok');
    assert.equal(codeOf(withItems(audioItem(), videoItem()), { variant }), 'ok');
  }
  assert.equal(codeOf(withItems(TEXT, audioItem())), 'ok');
});

test('V 4.1 mix: A accepts 9 reference images, 3 videos and 3 audios; B sets no limit on images and videos', () => {
  const items = (images: number, videos: number, audios: number) =>
    withItems(
      ...Array(images).fill(imageItem('reference_image')),
      ...Array(videos).fill(videoItem()),
      ...Array(audios).fill(audioItem()),
    );
  assert.equal(codeOf(items(9, 3, 3)), 'ok');
  for (const [images, videos, audios] of [
    [10, 0, 0],
    [0, 4, 0],
    [0, 0, 4],
    [10, 4, 4],
  ] as const)
    assert.equal(codeOf(items(images, videos, audios)), UNSUPPORTED);
  for (const variant of VARIANTS_B) assert.equal(codeOf(items(40, 20, 3), { variant }), 'ok');
});

test('V 4.1 mix: frames and references do not go together on any variant', () => {
  for (const variant of VIDEO_VARIANTS)
    for (const frames of [
      [imageItem('first_frame')],
      [imageItem('first_frame'), imageItem('last_frame')],
      [imageItem('last_frame')],
    ])
      for (const reference of [imageItem('reference_image'), videoItem(), audioItem()])
        for (const items of [
          [...frames, reference],
          [reference, ...frames],
        ])
          assert.equal(codeOf(withItems(...items), { variant }), UNSUPPORTED);
});

test('V 4.1 mix: a last frame needs a first one, and there is one of each', () => {
  for (const variant of VIDEO_VARIANTS) {
    assert.equal(codeOf(withItems(imageItem('last_frame')), { variant }), UNSUPPORTED);
    for (const role of ['first_frame', 'last_frame']) {
      const others = role === 'last_frame' ? [imageItem('first_frame')] : [];
      assert.equal(codeOf(withItems(...others, imageItem(role), imageItem(role)), { variant }), UNSUPPORTED, role);
    }
  }
});

test('V 4.1 mix: an image without a role counts as a first frame beside references', () => {
  for (const variant of VIDEO_VARIANTS)
    for (const reference of [videoItem(), audioItem()])
      assert.equal(codeOf(withItems(imageItem(), reference), { variant }), UNSUPPORTED);
});

test('V 4.1 ref: a malformed reference has its own code in every kind of item', () => {
  for (const url of [
    'asset://',
    'asset://x',
    'asset://asset_',
    'asset://assetgrp_1',
    'asset://task_1',
    'asset://asset_1/x',
    'asset://asset_1?x',
    'asset://asset_1 ',
    ' asset://asset_1',
    'asset://asset-20260224200602-qn7wr',
    'ASSET://asset_1',
  ])
    for (const item of [imageItem('reference_image', url), videoItem(undefined, url), audioItem(undefined, url)])
      assert.equal(codeOf(withItems(item)), 'invalid_asset_reference', url);
});

test('V 4.1 ref: references are returned with item, kind, role and id', () => {
  const body = withItems(
    TEXT,
    imageItem('reference_image', 'asset://char_1'),
    videoItem(undefined, 'asset://asset_2'),
    audioItem(),
  );
  assert.deepEqual(verdictOf(examine(body)).request?.references, [
    {
      index: 1,
      param: 'content[1].image_url.url',
      kind: 'image',
      role: 'reference_image',
      id: 'char_1',
      form: 'character',
    },
    {
      index: 2,
      param: 'content[2].video_url.url',
      kind: 'video',
      role: 'reference_video',
      id: 'asset_2',
      form: 'asset',
    },
  ]);
});

test('V 4.1 ref: a character is a reference image and nothing else', () => {
  const character = 'asset://char_1';
  for (const variant of VIDEO_VARIANTS)
    for (const items of [
      [imageItem('first_frame', character)],
      [imageItem(undefined, character)],
      [imageItem('first_frame'), imageItem('last_frame', character)],
      [videoItem(undefined, character)],
      [imageItem('reference_image'), audioItem(undefined, character)],
    ])
      assert.equal(codeOf(withItems(...items), { variant }), UNSUPPORTED, JSON.stringify(items));
});

test('V 4.1 ref: the order of items stays when references are replaced', () => {
  const body = withItems(
    imageItem('reference_image', 'asset://asset_1'),
    TEXT,
    imageItem('reference_image', 'asset://char_2'),
    videoItem(),
    { type: 'text', text: 'second' },
    imageItem('reference_image', 'asset://asset_1'),
  );
  assert.deepEqual(verdictOf(examine(body)).upstream?.content, [
    imageItem('reference_image', 'asset://up-0'),
    TEXT,
    imageItem('reference_image', 'asset://up-2'),
    videoItem(),
    { type: 'text', text: 'second' },
    imageItem('reference_image', 'asset://up-5'),
  ]);
});

test('V 4.2 model: the name is a string that is not empty, and is checked without a target', () => {
  for (const model of [undefined, null, 5, '', [], { name: 'x' }]) {
    const body = taskBody({ model });
    assert.equal(codeOf(body), INVALID, JSON.stringify(model));
    const examination = examineTaskBody(Buffer.from(JSON.stringify(body)), 'tasks', undefined);
    assert.equal(examination.kind === 'parsed' && examination.model, undefined);
    assert.equal(verdictOf(examination).error?.param, 'model');
  }
});

test('V 4.2 model: without a target only the form is checked', () => {
  const examination = examineTaskBody(Buffer.from(JSON.stringify({ model: 'm', foo: 1 })), 'tasks', undefined);
  assert.ok(examination.kind === 'parsed');
  assert.equal(examination.model, 'm');
  assert.equal(examination.result, undefined);
  assert.match(examination.fingerprint, /^[0-9a-f]{64}$/);
});

test('V 4.2 duration: 4 to 15 on all variants, and -1 on A only', () => {
  expectParameter('duration', [4, 15], 'ok', VIDEO_VARIANTS);
  expectParameter('duration', [3, 16, 0, -2, 1e300], INVALID, VIDEO_VARIANTS);
  expectParameter('duration', [5.5, '5', true, null, [5]], INVALID, VIDEO_VARIANTS);
  expectParameter('duration', [-1], 'ok', ['A']);
  expectParameter('duration', [-1], UNSUPPORTED, VARIANTS_B);
  assert.equal(codeOf('{"model":"m","content":[{"type":"text","text":"x"}],"duration":1e999}'), INVALID);
  assert.equal(codeOf('{"model":"m","content":[{"type":"text","text":"x"}],"duration":5.0}'), 'ok');
});

test('V 4.2 duration: excludes frames, also as -1', () => {
  for (const duration of [5, -1]) {
    const { error } = verdictOf(examine(taskBody({ duration, frames: 24 })));
    assert.equal(error?.code, INVALID);
    assert.equal(error?.message, 'duration: cannot be combined with frames; send one of the two.');
  }
  for (const variant of VARIANTS_B)
    assert.equal(codeOf(taskBody({ duration: 5, frames: 24 }), { variant }), UNSUPPORTED);
});

test('V 4.2 frames: 1 to 360 on A', () => {
  expectParameter('frames', [1, 360], 'ok', ['A']);
  expectParameter('frames', [0, 361, -1, 1.5, '24', true], INVALID, ['A']);
});

test('V 4.2 resolution: A offers three; 4k is unsupported, and other words are invalid', () => {
  expectParameter('resolution', ['480p', '720p', '1080p'], 'ok', ['A']);
  expectParameter('resolution', ['4k'], UNSUPPORTED, ['A']);
  expectParameter('resolution', ['8k', '720P', '', '4K', 720, null, 'x'.repeat(2_000)], INVALID, VIDEO_VARIANTS);
});

test('V 4.2 resolution: B offers what the model has', () => {
  for (const variant of VARIANTS_B) {
    const capabilities = { resolutions: ['480p', '720p'] } as const;
    for (const resolution of ['480p', '720p'])
      assert.equal(codeOf(taskBody({ resolution }), { variant, capabilities }), 'ok');
    for (const resolution of ['1080p', '4k'])
      assert.equal(codeOf(taskBody({ resolution }), { variant, capabilities }), UNSUPPORTED);
    assert.equal(codeOf(taskBody({ resolution: '4k' }), { variant }), 'ok');
  }
});

test('V 4.2 ratio: A offers six and adaptive, B what the model has', () => {
  expectParameter('ratio', ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9', 'adaptive'], 'ok', ['A']);
  expectParameter('ratio', ['2:1', '16/9', 1.78, '', 'Adaptive'], INVALID, VIDEO_VARIANTS);
  for (const variant of VARIANTS_B) {
    const capabilities = { ratios: ['16:9'] } as const;
    assert.equal(codeOf(taskBody({ ratio: '16:9' }), { variant, capabilities }), 'ok');
    assert.equal(codeOf(taskBody({ ratio: '21:9' }), { variant, capabilities }), UNSUPPORTED);
  }
});

test('V 4.2 seed: -1 to 4294967295 on A', () => {
  expectParameter('seed', [-1, 0, 4_294_967_295], 'ok', ['A']);
  expectParameter('seed', [-2, 4_294_967_296, 1.5, '1'], INVALID, ['A']);
});

test('V 4.2 booleans: true and false pass on all variants, other values are invalid', () => {
  for (const name of ['generate_audio', 'watermark', 'return_last_frame']) {
    expectParameter(name, [true, false], 'ok', VIDEO_VARIANTS);
    expectParameter(name, ['true', 1, 0, null], INVALID, VIDEO_VARIANTS);
  }
});

test('V 4.2 service_tier: A accepts default, which is not sent upstream', () => {
  const { request, upstream } = verdictOf(examine(taskBody({ service_tier: 'default' })));
  assert.equal(request?.parameters.service_tier, 'default');
  assert.ok(upstream && !('service_tier' in upstream));
  expectParameter('service_tier', ['flex', 'priority', '', 'x'.repeat(2_000)], UNSUPPORTED, ['A']);
  expectParameter('service_tier', [1, null, ['default']], INVALID, ['A']);
});

test('V 4.2 execution_expires_after: 3600 to 259200 on A', () => {
  expectParameter('execution_expires_after', [3_600, 259_200], 'ok', ['A']);
  expectParameter('execution_expires_after', [3_599, 259_201, '3600', 3_600.5], INVALID, ['A']);
  assert.equal(verdictOf(examine(taskBody({ execution_expires_after: 7_200 }))).request?.executionExpiresAfter, 7_200);
});

test('V 4.2 callback_url: a public HTTPS URL on all variants, which is not sent upstream', () => {
  expectParameter('callback_url', ['https://hooks.example.com/x?y=1'], 'ok', VIDEO_VARIANTS);
  expectParameter(
    'callback_url',
    [1, null, {}, [], `https://hooks.example.com/${'x'.repeat(2_048)}`],
    INVALID,
    VIDEO_VARIANTS,
  );
  const { request, upstream } = verdictOf(examine(taskBody({ callback_url: 'https://hooks.example.com/x' })));
  assert.equal(request?.callbackUrl, 'https://hooks.example.com/x');
  assert.ok(!('callback_url' in (request?.parameters ?? {})));
  assert.ok(upstream && !('callback_url' in upstream));
});

test('V 4.2 tools: A accepts up to 16 web searches, and an empty list is not sent upstream', () => {
  const search = { type: 'web_search' };
  expectParameter('tools', [[], [search], Array(16).fill(search)], 'ok', ['A']);
  expectParameter(
    'tools',
    [Array(17).fill(search), {}, 'web_search', [null], ['web_search'], [{}], [{ type: 1 }]],
    INVALID,
    ['A'],
  );
  expectParameter('tools', [[{ type: 'code' }], [search, { type: '' }]], UNSUPPORTED, ['A']);
  assert.ok(!('tools' in (verdictOf(examine(taskBody({ tools: [] }))).upstream ?? {})));
  assert.deepEqual(verdictOf(examine(taskBody({ tools: [search] }))).upstream?.tools, [search]);
});

test('V 4.2 rejected: camera_fixed, draft and priority are unsupported on all variants, also as false and 0', () => {
  for (const name of ['camera_fixed', 'draft', 'priority'])
    expectParameter(name, [false, true, 0, 1, '', null], UNSUPPORTED, VIDEO_VARIANTS);
});

test('V 4.2 r1: each field that B lacks is unsupported with any value, and the message names it', () => {
  const fields = {
    frames: [24, 'x'],
    seed: [1, -5],
    camera_fixed: [false],
    service_tier: ['default', 'flex'],
    execution_expires_after: [3_600],
    priority: [0],
    draft: [false],
    tools: [[], [{ type: 'web_search' }]],
  };
  for (const variant of VARIANTS_B)
    for (const [name, values] of Object.entries(fields))
      for (const value of values) {
        const { error } = verdictOf(examine(taskBody({ [name]: value }), { variant }));
        assert.equal(error?.code, UNSUPPORTED);
        assert.equal(error?.param, name);
        assert.ok(error?.message.startsWith(`${name}: `));
      }
});

test('V 4.2 r1: an explicit false reaches the provider, and an absent boolean does not', () => {
  for (const variant of VIDEO_VARIANTS) {
    const { request, upstream } = verdictOf(
      examine(taskBody({ generate_audio: false, watermark: false }), { variant }),
    );
    assert.deepEqual(request?.parameters, { generate_audio: false, watermark: false });
    assert.equal(upstream?.generate_audio, false);
    assert.equal(upstream?.watermark, false);
    assert.ok(upstream && !('return_last_frame' in upstream));
  }
});

test('V 4.2 r2: the parameters that decide the cost are returned as given', () => {
  const body = { ...withItems(TEXT, videoItem()), duration: -1, resolution: '720p', ratio: 'adaptive' };
  const { request } = verdictOf(examine(body));
  assert.deepEqual(
    [request?.duration, request?.frames, request?.resolution, request?.ratio, request?.hasVideoInput],
    [-1, undefined, '720p', 'adaptive', true],
  );
  assert.deepEqual(request?.counts, { text: 1, image: 0, video: 1, audio: 0 });
});
