import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../../core/index.ts';
import { capabilitiesOf, IMAGE_PRESETS, STANDARD_IMAGE_SIZES } from '../../rules/index.ts';
import type { HubEvent, HubItem, HubReply, HubStop, HubUsage } from '../hub/types.ts';
import { encodeRequestFor, pairOf, unfold } from '../index.ts';

const pair = pairOf({ client: 'images', upstream: 'generate' });
const decode = (body: object) =>
  pair.client.decodeRequest({ prompt: 'a lamp', ...body }, { headers: {}, model: 'demo-generate-image' });
const target = {
  model: 'demo-generate-image',
  capabilities: capabilitiesOf('generate-content', 'demo-generate-image'),
};
const encode = (body: object) => encodeRequestFor(pair, decode(body), target);
const configOf = (body: object): unknown => encode(body).body.generationConfig;

function rejection(body: object): ApiError {
  try {
    encode(body);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return assert.fail(`${JSON.stringify(body)} was accepted`);
}

describe('an image request', () => {
  test('becomes one text and the image as the only modality', () => {
    assert.deepEqual(encode({}).body, {
      contents: [{ role: 'user', parts: [{ text: 'a lamp' }] }],
      generationConfig: { responseModalities: ['IMAGE'] },
    });
    assert.deepEqual(decode({ stream: true }).stream, true);
  });

  test('has the ratio and the tier of every preset; a standard size is of tier 1K, and auto sends none', () => {
    const ratios = { auto: undefined, '1024x1024': '1:1', '1536x1024': '3:2', '1024x1536': '2:3' } as const;
    for (const size of STANDARD_IMAGE_SIZES) {
      const aspectRatio = ratios[size];
      assert.deepEqual(configOf({ size }), {
        responseModalities: ['IMAGE'],
        ...(aspectRatio && { imageConfig: { aspectRatio } }),
      });
    }
    for (const [tier, sizes] of Object.entries(IMAGE_PRESETS))
      for (const [aspectRatio, size] of Object.entries(sizes)) {
        const imageConfig = tier === '1K' ? { aspectRatio } : { aspectRatio, imageSize: tier };
        assert.deepEqual(configOf({ size }), { responseModalities: ['IMAGE'], imageConfig }, size);
      }
  });

  for (const [size, preset] of [
    ['1000x999', '1024x1024'],
    ['512x512', '1024x1024'],
    ['1300x720', '1280x720'],
    ['3800x2160', '3840x2160'],
    ['1000x2000', '1152x2048'],
    ['1x99999', '720x1280'],
  ])
    test(`has no size ${size}; the error names ${preset}`, () => {
      const { code, message, details } = rejection({ size });
      assert.deepEqual([code, details.param], ['unsupported_parameter', 'size']);
      assert.match(message, new RegExp(`^size: .*"${preset}"`));
    });

  test('names the fields that have no equivalent, but not their default values', () => {
    const dropped = { quality: 'low', output_format: 'png', background: 'opaque', moderation: 'low', user: 'u' };
    const more = { output_compression: 0, partial_images: 1, response_format: 'url', constructor: 'x' };
    assert.deepEqual(
      [...encode({ ...dropped, ...more }).dropped].sort(),
      [...Object.keys(dropped), ...Object.keys(more)].sort(),
    );
    const defaults = { quality: 'auto', background: 'auto', moderation: 'auto', partial_images: 0, n: 1, style: null };
    assert.deepEqual(encode({ ...defaults, size: 'auto', stream: false, model: 'm' }).dropped, []);
  });

  test('is rejected for several images and for a transparent background', () => {
    for (const [body, field] of [
      [{ n: 2 }, 'n'],
      [{ background: 'transparent' }, 'background'],
    ] as const) {
      const { code, details } = rejection(body);
      assert.deepEqual([code, details.param], ['unsupported_parameter', field]);
    }
  });
});

// ---------------------------------------------------------------- replies

const PNG = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
  Buffer.from([0, 0, 5, 0x60, 0, 0, 3, 0]),
]).toString('base64');
const picture = (data = PNG, mime = 'image/png'): HubItem => ({
  kind: 'message',
  role: 'assistant',
  parts: [{ kind: 'image', source: { kind: 'base64', mime, data } }],
});
const text: HubItem = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'Here.' }] };
const USAGE: HubUsage = { input: 9, cacheRead: 0, cacheWrite: 0, output: 1300, outputImage: 1290 };
const reply = (items: readonly HubItem[], usage = USAGE): HubReply => ({
  id: 'r',
  model: 'm',
  items,
  stop: 'end',
  usage,
});
const context = {
  request: decode({}),
  model: 'm',
  requestId: 'req_1',
  issuer: 'generate-content',
  created: 5,
} as const;
const stream = (events: readonly HubEvent[]): string => {
  const encoder = pair.client.openEncoder(context);
  return events.map((event) => encoder.push(event)).join('');
};
const encodedUsage = {
  input_tokens: 9,
  input_tokens_details: { text_tokens: 9, image_tokens: 0 },
  output_tokens: 1300,
  output_tokens_details: { text_tokens: 10, image_tokens: 1290 },
  total_tokens: 1309,
};

describe('a reply of the images API', () => {
  test('has the pictures without the text, and the size and format that they have', () => {
    assert.deepEqual(pair.client.encodeReply(reply([text, picture()]), context), {
      created: 5,
      data: [{ b64_json: PNG }],
      output_format: 'png',
      size: '1376x768',
      usage: encodedUsage,
    });
  });

  test('leaves out what is unknown: the size of other bytes, and usage that was not reported', () => {
    const items = [picture('AAAA', 'image/jpeg')];
    assert.deepEqual(pair.client.encodeReply(reply(items, { ...USAGE, estimated: true }), context), {
      created: 5,
      data: [{ b64_json: 'AAAA' }],
      output_format: 'jpeg',
    });
  });

  test('counts output without details as image tokens, except reasoning', () => {
    const { outputImage: _, ...rest } = USAGE;
    const { usage } = pair.client.encodeReply(reply([picture()], { ...rest, reasoning: 300 }), context) as {
      usage: typeof encodedUsage;
    };
    assert.deepEqual(usage.output_tokens_details, { text_tokens: 300, image_tokens: 1000 });
  });

  test('as a stream is one completed event per picture, the last with the usage', () => {
    const event = {
      type: 'image_generation.completed',
      b64_json: PNG,
      created_at: 5,
      background: 'auto',
      quality: 'auto',
      output_format: 'png',
      size: '1376x768',
    };
    const block = (data: object): string => `event: image_generation.completed\ndata: ${JSON.stringify(data)}\n\n`;
    const last = block({ ...event, usage: encodedUsage });
    assert.equal(stream(unfold(reply([text, picture()]))), last);
    assert.equal(stream(unfold(reply([picture(), picture()]))), block(event) + last);
  });

  test('as a stream that fails ends with an error event, and its heartbeat is a comment', () => {
    const error = { code: 'upstream_error', message: 'No.' } as const;
    const body = { message: 'No.', type: 'server_error', param: null, code: 'upstream_error' };
    assert.equal(
      stream([{ kind: 'error', error }]),
      `event: error\ndata: ${JSON.stringify({ type: 'error', error: body })}\n\n`,
    );
    assert.match(pair.client.openEncoder(context).heartbeat(), /^:/);
  });

  test('without a picture is a fault: of the request if it was blocked, else without a cooldown', () => {
    const fault = (stop: HubStop, refusal?: string) =>
      pair.client.faultIn?.({ items: [text], stop, ...(refusal !== undefined && { refusal }) });
    assert.deepEqual(fault('filter', 'Unsafe.'), {
      kind: 'request',
      error: { code: 'content_policy_violation', message: 'Unsafe.' },
    });
    assert.equal(fault('refusal')?.error.code, 'content_policy_violation');
    for (const stop of ['end', 'length', 'tool'] as const) {
      assert.deepEqual([fault(stop)?.kind, fault(stop)?.error.code], ['no_result', 'upstream_error']);
      assert.match(fault(stop)?.error.message ?? '', new RegExp(stop));
    }
    assert.equal(pair.client.faultIn?.(reply([picture()])), undefined);
  });
});
