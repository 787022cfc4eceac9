/** Damaged and hostile bodies: every one ends in a request or a described error. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { growthOf, LINEAR_GROWTH } from '../../../test/support/cpu-time.ts';
import { runs } from '../../../test/support/properties.ts';
import {
  audioItem,
  dataUrl,
  examine,
  IMAGE_STARTS,
  imageItem,
  mp3File,
  TEXT,
  taskBody,
  verdictOf,
  videoItem,
  wavFile,
} from '../../../test/support/video-request.ts';
import { VIDEO_VARIANTS } from '../../rules/index.ts';

const BODIES = [
  taskBody({ duration: 5, resolution: '720p', generate_audio: false, tools: [{ type: 'web_search' }] }),
  taskBody({ content: [TEXT, imageItem(undefined, dataUrl('image/png', IMAGE_STARTS.png ?? Buffer.alloc(0)))] }),
  taskBody({ content: [audioItem(undefined, dataUrl('audio/wav', wavFile(2)))] }),
  taskBody({
    content: [audioItem(undefined, dataUrl('audio/mp3', mp3File(2))), videoItem(undefined, 'asset://asset_1')],
  }),
  {
    model: 'm',
    prompt: 'a',
    seconds: '5',
    size: '1280x720',
    input_reference: { image_url: 'https://a.example.com/x' },
  },
].map((body) => Buffer.from(JSON.stringify(body)));

const variant = fc.constantFrom(...VIDEO_VARIANTS);
const entry = fc.constantFrom('tasks', 'videos');

function expectDescribed(bytes: Buffer, options: Parameters<typeof examine>[1]): void {
  const { error, request } = verdictOf(examine(bytes, options));
  assert.ok(request ?? error);
  if (!error) return;
  assert.match(error.message, /^[\s\S]{5,400}\.$/);
  assert.ok(error.message.isWellFormed());
}

test('V 4 form: a body with damaged bytes never throws', () => {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.nat(12),
    insert: fc.oneof(
      fc.constantFrom(
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '\u0000',
        '\\u12',
        '-',
        '1e999',
        'null',
        '__proto__',
        '"model":',
        'asset://',
        'data:',
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    ),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...BODIES),
      fc.array(edit, { minLength: 1, maxLength: 4 }),
      variant,
      entry,
      (body, edits, on, by) => {
        let bytes = body;
        for (const { at, remove, insert } of edits) {
          const start = Math.floor(at * bytes.length);
          bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(insert), bytes.subarray(start + remove)]);
        }
        expectDescribed(bytes, { variant: on, entry: by });
      },
    ),
    { numRuns: runs(500) },
  );
});

test('V 4 form: a body with values of any type never throws', () => {
  const names = [
    'model',
    'content',
    'type',
    'text',
    'url',
    'role',
    'image_url',
    'tools',
    'duration',
    'prompt',
    'seconds',
    'size',
    'x',
  ];
  const words = [
    'text',
    'image_url',
    'first_frame',
    'asset://char_1',
    '720p',
    'data:image/png;base64,AA==',
    'https://a.example.com',
  ];
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<unknown>(null, true, 0, -1, 5, 1.5, '', ...words),
      fc.string({ unit: 'binary' }),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 5 }),
    ),
  }));
  const body = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 8 });
  fc.assert(
    fc.property(body, variant, entry, (members, on, by) =>
      expectDescribed(Buffer.from(JSON.stringify({ model: 'm', ...members })), { variant: on, entry: by }),
    ),
    { numRuns: runs(500) },
  );
});

test('V 4 form: bodies built to be slow cost linear time', () => {
  const escaped = (pair: string) => (size: number) => Buffer.from(`{"model":"${pair.repeat(size)}"}`);
  const withAudio = (size: number): Buffer => {
    const noFrames = Buffer.alloc(3 * size, Buffer.from([0xff, 0xfb, 0x90, 0x00]));
    return Buffer.from(JSON.stringify(taskBody({ content: [audioItem(undefined, dataUrl('audio/mp3', noFrames))] })));
  };
  for (const bodyOf of [escaped('\\\\'), escaped('\\"'), withAudio]) {
    const growth = growthOf((size) => {
      const body = bodyOf(size);
      return () => expectDescribed(body, { variant: 'A', entry: 'tasks' });
    }, 2 ** 14);
    assert.ok(growth < LINEAR_GROWTH, `${bodyOf(8)}: ${growth}`);
  }
});
