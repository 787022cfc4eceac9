import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  codeOf,
  examine,
  TEXT,
  taskBody,
  VARIANTS_B,
  verdictOf,
  videoItem,
  withItems,
} from '../../../test/support/video-request.ts';
import { VIDEO_PARAMETERS, VIDEO_VARIANTS } from '../../rules/index.ts';

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

test('V 4 null: a member with null is absent, whether the model has the member or not', () => {
  const names = [...VIDEO_PARAMETERS, 'camera_fixed', 'draft', 'priority', 'safety_identifier', 'unknown_member'];
  for (const name of names) expectParameter(name, [null], 'ok', VIDEO_VARIANTS);
  const nulls = Object.fromEntries(names.map((name) => [name, null]));
  assert.deepEqual(verdictOf(examine(taskBody(nulls))), verdictOf(examine(taskBody({}))));
});
test('V 4 null: required members with null are missing, and two spellings of one member are rejected', () => {
  for (const name of ['model', 'content']) {
    const { error } = verdictOf(examine(taskBody({ [name]: null })));
    assert.deepEqual([error?.code, error?.param], [INVALID, name]);
    assert.match(error?.message ?? '', /missing/);
  }
  assert.equal(codeOf('{"model":"m","content":[{"type":"text","text":"x"}],"seed":null,"seed":1}'), INVALID);
});
test('V 4 null: the fingerprint of a body does not depend on its nulls', () => {
  const [plain, nulls] = [{}, { seed: null, draft: null }].map((extra) => examine(taskBody(extra)));
  assert.deepEqual(nulls, plain);
});

test('V 4.2 duration: 4 to 15 on all variants, and -1 on A only', () => {
  expectParameter('duration', [4, 15], 'ok', VIDEO_VARIANTS);
  expectParameter('duration', [3, 16, 0, -2, 1e300], INVALID, VIDEO_VARIANTS);
  expectParameter('duration', [5.5, '5', true, [5]], INVALID, VIDEO_VARIANTS);
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
  expectParameter('resolution', ['8k', '720P', '', '4K', 720, 'x'.repeat(2_000)], INVALID, VIDEO_VARIANTS);
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
    expectParameter(name, ['true', 1, 0], INVALID, VIDEO_VARIANTS);
  }
});

test('V 4.2 service_tier: A accepts default, which is not sent upstream', () => {
  const { request, upstream } = verdictOf(examine(taskBody({ service_tier: 'default' })));
  assert.equal(request?.parameters.service_tier, 'default');
  assert.ok(upstream && !('service_tier' in upstream));
  expectParameter('service_tier', ['flex', 'priority', '', 'x'.repeat(2_000)], UNSUPPORTED, ['A']);
  expectParameter('service_tier', [1, ['default']], INVALID, ['A']);
});

test('V 4.2 execution_expires_after: 3600 to 259200 on A', () => {
  expectParameter('execution_expires_after', [3_600, 259_200], 'ok', ['A']);
  expectParameter('execution_expires_after', [3_599, 259_201, '3600', 3_600.5], INVALID, ['A']);
  assert.equal(
    verdictOf(examine(taskBody({ execution_expires_after: 7_200 }))).request?.parameters.execution_expires_after,
    7_200,
  );
});

test('V 4.2 callback_url: a public HTTPS URL on all variants, which is not sent upstream', () => {
  expectParameter('callback_url', ['https://hooks.example.com/x?y=1'], 'ok', VIDEO_VARIANTS);
  expectParameter(
    'callback_url',
    [1, {}, [], `https://hooks.example.com/${'x'.repeat(2_048)}`],
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
    expectParameter(name, [false, true, 0, 1, ''], UNSUPPORTED, VIDEO_VARIANTS);
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
  const given = request?.parameters;
  assert.deepEqual(
    [given?.duration, given?.frames, given?.resolution, given?.ratio, request?.hasVideoInput],
    [-1, undefined, '720p', 'adaptive', true],
  );
});
