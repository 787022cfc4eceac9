import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longTest } from '../../../test/support/long-test.ts';
import {
  audioItem,
  codeOf,
  dataUrl,
  examine,
  IMAGE_STARTS,
  imageItem,
  mp3File,
  mp3Frame,
  VARIANTS_B,
  verdictOf,
  videoItem,
  wavFile,
  withItems,
} from '../../../test/support/video-request.ts';
import { VIDEO_VARIANTS, type VideoVariant } from '../../rules/index.ts';

const INVALID = 'invalid_request';
const UNSUPPORTED = 'unsupported_video_parameter';
const MIB = 2 ** 20;

const imageCode = (url: string, variant: VideoVariant) => codeOf(withItems(imageItem(undefined, url)), { variant });
const audioCode = (url: string, variant: VideoVariant) =>
  codeOf(withItems(imageItem('reference_image'), audioItem(undefined, url)), { variant });
const PNG = IMAGE_STARTS.png ?? Buffer.alloc(0);

test('V 4.1 image: all six formats pass on all variants', () => {
  for (const variant of VIDEO_VARIANTS)
    for (const [format, bytes] of Object.entries(IMAGE_STARTS))
      assert.equal(imageCode(dataUrl(`image/${format}`, bytes), variant), 'ok', format);
});

test('V 4.1 image: other formats and upper case are invalid', () => {
  const text = PNG.toString('base64');
  for (const variant of VIDEO_VARIANTS)
    for (const start of [
      'data:image/svg+xml;base64,',
      'data:image/heic;base64,',
      'data:image/avif;base64,',
      'data:image/jpg;base64,',
      'data:image/PNG;base64,',
      'DATA:image/png;base64,',
      'data:IMAGE/png;base64,',
      'data:image/png;BASE64,',
      'data:audio/wav;base64,',
      'data:video/mp4;base64,',
    ])
      assert.equal(imageCode(start + text, variant), INVALID, start);
});

test('V 4.1 image: broken Base64, a missing ;base64, parameters and empty data are invalid', () => {
  const text = PNG.toString('base64');
  for (const url of [
    'data:image/png;base64,',
    `data:image/png,${text}`,
    `data:image/png;charset=utf-8;base64,${text}`,
    `data:;base64,${text}`,
    `data:image/png;base64 ,${text}`,
    `data: image/png;base64,${text}`,
    `data:image/png;base64,${text}=`,
    `data:image/png;base64,${text.slice(0, -1)}`,
    `data:image/png;base64,${text.slice(0, 8)}\n${text.slice(8)}`,
    `data:image/png;base64,${text.slice(0, 8)}   =${text.slice(12)}`,
    'data:image/png;base64,iVBORw0KGgo',
    'data:image/png;base64,iVBORw0KGgp=',
    'data:image/png;base64,____',
    'data:image/png;base64,====',
    'data:image/png;base64,A===',
    'data:',
    'data:,',
  ])
    for (const variant of VIDEO_VARIANTS) assert.equal(imageCode(url, variant), INVALID, url);
});

test('V 4.1 image: A compares the format with the bytes, B does not', () => {
  for (const [format, bytes] of Object.entries(IMAGE_STARTS))
    for (const declared of Object.keys(IMAGE_STARTS)) {
      const url = dataUrl(`image/${declared}`, bytes);
      assert.equal(imageCode(url, 'A'), format === declared ? 'ok' : INVALID, `${format} as ${declared}`);
      for (const variant of VARIANTS_B) assert.equal(imageCode(url, variant), 'ok');
    }
  assert.equal(imageCode(dataUrl('image/png', Buffer.from('x')), 'A'), INVALID);
});

longTest('V 4.1 image: one byte less than 30 MB passes, 30 MB is invalid', () => {
  const image = (bytes: number) => dataUrl('image/png', Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]));
  for (const variant of ['A', 'HC'] as const) {
    assert.equal(imageCode(image(30 * MIB - 1), variant), 'ok');
    assert.equal(imageCode(image(30 * MIB), variant), INVALID);
  }
});

test('V 4.1 address: a video cannot be sent as a data URL', () => {
  for (const variant of VIDEO_VARIANTS)
    for (const mime of ['video/mp4', 'image/png', 'audio/wav'])
      assert.equal(codeOf(withItems(videoItem(undefined, dataUrl(mime, PNG))), { variant }), INVALID);
});

test('V 4.1 audio: A accepts wav and mp3, and mpeg is unsupported there', () => {
  assert.equal(audioCode(dataUrl('audio/wav', wavFile(3)), 'A'), 'ok');
  assert.equal(audioCode(dataUrl('audio/mp3', mp3File(3)), 'A'), 'ok');
  assert.equal(audioCode(dataUrl('audio/mpeg', mp3File(3)), 'A'), UNSUPPORTED);
});

test('V 4.1 audio: B accepts wav, mp3 and mpeg without reading them', () => {
  for (const variant of VARIANTS_B)
    for (const format of ['wav', 'mp3', 'mpeg'])
      assert.equal(audioCode(dataUrl(`audio/${format}`, Buffer.from('anything')), variant), 'ok', format);
});

test('V 4.1 audio: other formats are invalid on all variants', () => {
  for (const variant of VIDEO_VARIANTS)
    for (const mime of ['audio/ogg', 'audio/flac', 'audio/aac', 'audio/x-wav', 'audio/WAV', 'image/png'])
      assert.equal(audioCode(dataUrl(mime, wavFile(3)), variant), INVALID, mime);
});

longTest('V 4.1 audio: 15 MB pass, one byte more is invalid', () => {
  const file = (bytes: number) => {
    const wav = wavFile(3, 2 ** 20);
    return dataUrl('audio/wav', Buffer.concat([wav, Buffer.alloc(bytes - wav.length)]));
  };
  for (const variant of ['A', 'EP'] as const) {
    assert.equal(audioCode(file(15 * MIB), variant), 'ok');
    assert.equal(audioCode(file(15 * MIB + 1), variant), INVALID);
  }
});

test('V 4.1 audio: A measures inline audio, 2 to 15 seconds each', () => {
  for (const [seconds, code] of [
    [1, INVALID],
    [1.9, INVALID],
    [2, 'ok'],
    [15, 'ok'],
    [15.2, INVALID],
    [16, INVALID],
  ] as const) {
    assert.equal(audioCode(dataUrl('audio/wav', wavFile(seconds)), 'A'), code, `wav ${seconds}`);
    assert.equal(audioCode(dataUrl('audio/wav', wavFile(seconds)), 'EP'), 'ok');
  }
  for (const [seconds, code] of [
    [1, INVALID],
    [2, 'ok'],
    [15, 'ok'],
    [15.1, 'ok'],
    [16, INVALID],
    [60, INVALID],
  ] as const)
    assert.equal(audioCode(dataUrl('audio/mp3', mp3File(seconds)), 'A'), code, `mp3 ${seconds}`);
  const { error } = verdictOf(examine(withItems(audioItem(undefined, dataUrl('audio/wav', wavFile(16))))));
  assert.equal(error?.message, 'content[0].audio_url.url: the audio is longer than allowed; send 2 to 15 seconds.');
});

test('V 4.1 audio: A limits the total of inline audio to 15 seconds; URLs and assets do not count', () => {
  const wav = (seconds: number) => audioItem(undefined, dataUrl('audio/wav', wavFile(seconds)));
  assert.equal(codeOf(withItems(wav(7), wav(8))), 'ok');
  assert.equal(codeOf(withItems(wav(8), wav(8))), INVALID);
  assert.equal(codeOf(withItems(wav(15), audioItem(), audioItem(undefined, 'asset://asset_1'))), 'ok');
  for (const variant of VARIANTS_B)
    assert.equal(codeOf(withItems(imageItem('reference_image'), wav(8), wav(8)), { variant }), 'ok');
});

test('V 4.1 audio: A rejects a file that is not of the named format', () => {
  for (const [mime, bytes] of [
    ['audio/wav', mp3File(3)],
    ['audio/mp3', wavFile(3)],
    ['audio/wav', Buffer.from('RIFF')],
    ['audio/mp3', Buffer.from('ID3')],
    ['audio/mp3', mp3Frame(8, 'Xing')],
    ['audio/wav', PNG],
  ] as const)
    assert.equal(audioCode(dataUrl(mime, bytes), 'A'), INVALID, mime);
});

test('V 4.1 image: escapes in a data URL are accepted and sent as the client wrote them', () => {
  const url = dataUrl('image/jpeg', Buffer.concat([IMAGE_STARTS.jpeg ?? PNG, Buffer.alloc(4_096, 0xff)]));
  assert.ok(url.includes('//'));
  const body = JSON.stringify(withItems(imageItem(undefined, url)));
  const escaped = body.replaceAll('/', '\\/');
  const { upstream } = verdictOf(examine(escaped));
  assert.deepEqual(upstream?.content, [imageItem('first_frame', url)]);
  const [plain, php] = [examine(body), examine(escaped)];
  assert.ok(plain.kind === 'parsed' && php.kind === 'parsed');
  assert.equal(php.fingerprint, plain.fingerprint);
});
