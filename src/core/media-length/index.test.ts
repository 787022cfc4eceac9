import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { aacFile, flacFile, mp3File, mp4File, oggFile, wavFile, webmFile } from '../../../test/support/media-files.ts';
import { ApiError } from '../errors.ts';
import { StepBudget } from '../step-budget.ts';
import { Base64File, type FileBytes, type MediaLength, mediaLength } from './index.ts';

const read = (file: Buffer): MediaLength => {
  const text = file.toString('base64');
  return mediaLength(new Base64File(text.length, (index) => text.charCodeAt(index)), new StepBudget());
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
    const length = mediaLength(file, new StepBudget());
    assert.ok('seconds' in length && (length.seconds ?? 0) >= 24_000);
    assert.ok(reads <= text.length, `${reads} reads of ${text.length} characters`);
  });

  /** How often bytes are read, and how many steps are counted. */
  const costOf = (bytes: Buffer): { reads: number; steps: number } => {
    let reads = 0;
    const at = (index: number): number => {
      reads += 1;
      return bytes[index] ?? 0;
    };
    const file: FileBytes = { size: bytes.length, at };
    const steps = new StepBudget();
    mediaLength(file, steps);
    return { reads, steps: steps.taken };
  };
  const assertLinear = (bytes: Buffer): void => {
    const { reads, steps } = costOf(bytes);
    assert.ok(reads <= 24 * bytes.length + 500, `${reads} reads of ${bytes.length} bytes`);
    assert.ok(steps <= bytes.length + 1, `${steps} steps in ${bytes.length} bytes`);
  };

  const SMALL = { minLength: 0, maxLength: 60 };
  const box = (type: string, content: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(8 + content.length);
    head.write(type, 4, 'latin1');
    return Buffer.concat([head, content]);
  };
  const NAMES = [
    'moov',
    'trak',
    'tkhd',
    'mdia',
    'mdhd',
    'hdlr',
    'minf',
    'stbl',
    'stsd',
    'stts',
    'mvex',
    'trex',
    'moof',
    'traf',
    'tfhd',
    'trun',
  ];
  const { boxes } = fc.letrec<{ boxes: Buffer; box: Buffer }>((tie) => ({
    boxes: fc.array(tie('box'), { maxLength: 8 }).map((list) => Buffer.concat(list)),
    box: fc
      .tuple(
        fc.constantFrom(...NAMES),
        fc.oneof(
          { depthSize: 'small', withCrossShrink: true },
          fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
          tie('boxes'),
        ),
        fc.integer({ min: 1, max: 50 }),
      )
      .map(([name, content, times]) => Buffer.concat(Array(content.length > 500 ? 1 : times).fill(box(name, content)))),
  }));
  const repeated = (head: Buffer | string): fc.Arbitrary<Buffer> =>
    fc
      .tuple(fc.array(fc.uint8Array(SMALL), { maxLength: 6 }), fc.integer({ min: 1, max: 400 }))
      .map(([parts, times]) =>
        Buffer.concat([Buffer.from(head as string, 'latin1'), ...Array<Buffer>(times).fill(Buffer.concat(parts))]),
      );
  /** Files that begin as their format does, and go on as an attacker would: parts of it, again and again. */
  const HOSTILE: readonly [about: string, files: fc.Arbitrary<Buffer>][] = [
    ['WAV', repeated('RIFF\0\0\0\0WAVEfmt ')],
    ['FLAC', repeated('fLaC')],
    [
      'MP3',
      fc.oneof(
        repeated('\xff\xf3\x14\0'),
        fc.integer({ min: 1, max: 2_000 }).map((n) => Buffer.from('ID3\x04\0\0\0\0\0\0'.repeat(n), 'latin1')),
      ),
    ],
    ['AAC', fc.integer({ min: 7, max: 30 }).map((bytes) => aacFile(20, bytes))],
    [
      'Ogg',
      fc.tuple(fc.nat(255), fc.nat(255)).map(([segments, lacing]) => {
        const page = Buffer.alloc(27 + segments, lacing);
        page.write('OggS', 'latin1');
        page[26] = segments;
        return Buffer.concat([oggFile(1, 1), ...Array<Buffer>(200).fill(page)]);
      }),
    ],
    ['MP4', boxes.map((content) => Buffer.concat([mp4File(1, { isFragmented: true }), content]))],
    [
      'WebM',
      fc
        .tuple(repeated('\x1a\x45\xdf\xa3'), fc.constantFrom(0xae, 0xa0, 0xa3, 0xe7), fc.nat(3_000))
        .map(([file, id, times]) =>
          Buffer.concat([webmFile(3), Buffer.from(Array(times).fill([id, 0x80]).flat()), file]),
        ),
    ],
  ];
  for (const [about, files] of HOSTILE)
    test(`the steps on a hostile ${about} grow no faster than its bytes`, () => {
      fc.assert(fc.property(files, assertLinear), { numRuns: 200 });
    });

  test('tags before an MP3 count as steps, so that a body of them is refused as others are', () => {
    const { steps } = costOf(Buffer.from('ID3\x04\0\0\0\0\0\0'.repeat(500), 'latin1'));
    assert.ok(steps >= 500, `${steps}`);
  });

  test('an MP4 of many tracks and many fragments costs steps for each, not for each pair', () => {
    const one = mp4File(1, { isFragmented: true });
    const at = (name: string): number => one.indexOf(name) - 4;
    const boxAt = (name: string): Buffer => one.subarray(at(name), at(name) + one.readUInt32BE(at(name)));
    const withId = (name: 'trak' | 'moof', holder: string, id: number): Buffer => {
      const copy = Buffer.from(boxAt(name));
      copy.writeUInt32BE(id, copy.indexOf(holder) + (name === 'trak' ? 16 : 8));
      return copy;
    };
    const file = (tracks: number, fragments: number): Buffer =>
      Buffer.concat([
        boxAt('ftyp'),
        box('moov', Buffer.concat(Array.from({ length: tracks }, (_, n) => withId('trak', 'tkhd', n + 1)))),
        ...Array<Buffer>(fragments).fill(withId('moof', 'tfhd', tracks)),
      ]);
    const [tracks, fragments, both] = [file(4_000, 0), file(1, 9_000), file(4_000, 9_000)].map(costOf);
    assert.ok(tracks && fragments && both);
    assert.ok(both.reads <= tracks.reads + fragments.reads, `${both.reads}`);
    assertLinear(file(4_000, 9_000));
  });

  test('all files of a body share one budget, and the body beyond it is refused by name', () => {
    const file = mp3File(60, 8);
    const { steps } = costOf(file);
    const body = new StepBudget(3 * steps);
    const readOne = () => mediaLength({ size: file.length, at: (index) => file[index] ?? 0 }, body);
    for (let n = 0; n < 3; n += 1) readOne();
    assert.throws(readOne, (error) => error instanceof ApiError && error.code === 'request_too_complex');
  });
});
