import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VIDEO_SHEETS } from '../../rules/index.ts';
import { promptOptionsIn } from './prompt-options.ts';

/** Resolutions, ratios, seconds, and `unclear`. */
function read(...texts: string[]): string | undefined {
  const options = promptOptionsIn(texts, VIDEO_SHEETS.A);
  if (!options) return undefined;
  const { resolutions, ratios, seconds, isUnclear } = options;
  return [...resolutions, ...ratios, ...(seconds > 0 ? [seconds] : []), ...(isUnclear ? ['unclear'] : [])].join(' ');
}

for (const [text, expected] of [
  ['a lamp --rs 1080p --dur 15', '1080p 15'],
  ['a lamp --resolution 720p --ratio 21:9 --duration 7', '720p 21:9 7'],
  ['a lamp --rs 720p --rt 16:9 --dur 5 --fps 24 --wm true --seed 11 --cf false', '720p 16:9 5'],
  ['a lamp --framespersecond 24 --watermark true --camerafixed false --camera_fixed true', ''],
  ['a lamp --RS 4K --Dur 9', '4k 9'],
  ['a lamp --rs=1080p --dur:15', '1080p 15'],
  ['a lamp--rs 1080p--dur15', '1080p 15'],
  ['a lamp -- rs "1080p", then --rs 480p', '1080p 480p'],
  ['--frames 289', '13'],
  ['--dur 500', '30'],
  ['--dur 12 --duration 4', '12'],
  ['--dur -1', 'unclear'],
  ['--dur long', 'unclear'],
  ['--rs 8k', 'unclear'],
  ['--rt 2:1', 'unclear'],
  ['--rs', 'unclear'],
  ['--rs --dur 9', '9 unclear'],
  ['a lamp --new_option 3', 'unclear'],
  ['a lamp--new 3', 'unclear'],
] as const)
  test(`the options of «${text}» are read`, () => assert.equal(read(text), expected));

test('a name and its value in two texts are an option that cannot be read', () => {
  assert.equal(read('a lamp --rs', '1080p'), 'unclear');
});

for (const text of [
  '',
  'a lamp',
  'the lamp--old and dusty--glows',
  'she waits -- then leaves',
  'a -- b',
  '----',
  'x--',
])
  test(`«${text}» has no options`, () => assert.equal(read(text), undefined));

test('many options cost time in proportion to their number, and no memory', () => {
  const hostile = ['--', '-- ', '--a ', '--dur 5 ', '--rs=', '-\n-'].map((part) => part.repeat(200_000));
  assert.match(read(...hostile) ?? '', /^5 unclear$/);
});
