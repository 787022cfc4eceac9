import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { aacFile, flacFile, mp3File, mp4File, oggFile, wavFile, webmFile } from '../../../test/support/media-files.ts';
import { Base64File, type MediaLength, mediaLength } from './index.ts';

const read = (file: Buffer): MediaLength => {
  const text = file.toString('base64');
  return mediaLength(new Base64File(text.length, (index) => text.charCodeAt(index)));
};

/** What a file lasts, and what it claims. */
const FILES: readonly [about: string, file: Buffer, kind: string, seconds: number][] = [
  ['WAV', wavFile(60), 'audio', 60],
  ['WAV that claims a second', wavFile(60, 1), 'audio', 60],
  ['MP3 at 8 kbit/s', mp3File(60, 8), 'audio', 60],
  ['MP3 at 160 kbit/s', mp3File(60, 160), 'audio', 60],
  [
    'MP3 with a tag',
    Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x01\0', 'latin1'), Buffer.alloc(128), mp3File(9, 64)]),
    'audio',
    9,
  ],
  ['AAC', aacFile(60, 180), 'audio', 60],
  ['AAC of tiny frames', aacFile(60, 9), 'audio', 60],
  ['Ogg', oggFile(60, 120), 'audio', 60],
  ['Ogg of tiny packets that claims a second', oggFile(60, 1, 1), 'audio', 60],
  ['FLAC', flacFile(60, 1_000_000), 'audio', 60],
  ['FLAC that claims a second', flacFile(1, 60 * 44_100 * 4), 'audio', 60],
  ['M4A', mp4File(60), 'audio', 60],
  ['M4A whose table claims a second', mp4File(60, { tick: 17 }), 'audio', 60],
  ['M4A in fragments', mp4File(60, { isFragmented: true }), 'audio', 60],
  ['M4A in fragments that claim a second', mp4File(60, { isFragmented: true, tick: 17 }), 'audio', 60],
  ['MP4', mp4File(60, { isVideo: true }), 'video', 60],
  ['WebM of a browser', webmFile(60), 'audio', 59],
  ['WebM that states its length', webmFile(60, 60_000), 'audio', 60],
  ['WebM that claims a second', webmFile(60, 1_000), 'audio', 59],
];

describe('lengths of media', () => {
  for (const [about, file, kind, seconds] of FILES)
    test(`${about} lasts at least as long as it plays, and little more`, () => {
      const length = read(file);
      assert.equal(length.kind, kind);
      const found = 'seconds' in length ? length.seconds : undefined;
      assert.ok(found !== undefined && found >= seconds - 1e-6 && found <= seconds * 1.1 + 1.5, String(found));
    });

  test('images and documents have none, whatever they are called', () => {
    const kindOf = (text: string): string => read(Buffer.from(text, 'latin1')).kind;
    for (const text of [
      '\x89PNG\r\n\x1a\n',
      '\xff\xd8\xff\xe0',
      'GIF89a',
      'RIFF\0\0\0\0WEBPVP8 ',
      '\0\0\0\x18ftypheic',
    ])
      assert.equal(kindOf(text), 'image', text);
    assert.equal(kindOf('%PDF-1.7'), 'document');
    assert.equal(kindOf('hello'), 'unknown');
  });

  test('compressed WAV and damaged files have no known length', () => {
    const adpcm = wavFile(1);
    adpcm.writeUInt16LE(2, 20);
    for (const file of [
      adpcm,
      wavFile(1).subarray(0, 36),
      Buffer.concat([oggFile(9, 20), Buffer.alloc(99)]),
      webmFile(9).subarray(0, 40),
    ]) {
      const length = read(file);
      assert.ok('seconds' in length && length.seconds === undefined, length.kind);
    }
  });

  test('a damaged file is read to its end at most, and never fails', () => {
    const change = fc.record({ at: fc.nat(400), byte: fc.nat(255) });
    const file = fc.constantFrom(...FILES.map(([, one]) => one.subarray(0, 40_000)));
    fc.assert(
      fc.property(file, fc.array(change, { maxLength: 8 }), fc.nat(40_000), (whole, changes, end) => {
        const damaged = Buffer.from(whole.subarray(0, end));
        for (const { at, byte } of changes) if (at < damaged.length) damaged[at] = byte;
        const length = read(damaged);
        if ('seconds' in length && length.seconds !== undefined) assert.ok(length.seconds >= 0);
      }),
      { numRuns: 500 },
    );
  });

  test('base64 is decoded byte by byte, in both alphabets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), fc.constantFrom('base64', 'base64url'), (bytes, encoding) => {
        const text = Buffer.from(bytes).toString(encoding as 'base64');
        const file = new Base64File(text.length, (index) => text.charCodeAt(index));
        assert.deepEqual(
          Array.from({ length: file.size }, (_, n) => file.at(n)),
          [...bytes],
        );
      }),
    );
  });

  test('the largest body is read once at most', () => {
    const text = mp3File(24_000, 8).toString('base64');
    let reads = 0;
    const file = new Base64File(text.length, (index) => {
      reads += 1;
      return text.charCodeAt(index);
    });
    const length = mediaLength(file);
    assert.ok('seconds' in length && (length.seconds ?? 0) >= 24_000);
    assert.ok(reads <= text.length, `${reads} reads of ${text.length} characters`);
  });
});
