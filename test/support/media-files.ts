/** Audio and video files of a given length, silent and as small as their formats allow. */

/** PCM of one byte per sample at 8 kHz. `claimed` is the length that the header states, in seconds. */
export function wavFile(seconds: number, claimed = seconds): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + claimed * 8_000, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8_000, 24);
  header.writeUInt32LE(8_000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(claimed * 8_000, 40);
  return Buffer.concat([header, Buffer.alloc(seconds * 8_000)]);
}

const MPEG2_KBPS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

/** MPEG 2 layer III at 24 kHz: frames of 24 ms. */
export function mp3File(seconds: number, kbps: number): Buffer {
  const frame = Buffer.alloc(Math.floor((72 * kbps * 1000) / 24_000));
  frame.writeUInt32BE((0xfff30000 | (MPEG2_KBPS.indexOf(kbps) << 12) | (1 << 10)) >>> 0);
  return Buffer.concat(Array.from({ length: Math.ceil(seconds / 0.024) }, () => frame));
}

/** Frames of AAC with headers, at 44.1 kHz. */
export function aacFile(seconds: number, frameBytes: number): Buffer {
  const frame = Buffer.alloc(frameBytes);
  frame.set([
    0xff,
    0xf1,
    0x50,
    0x80 | (frameBytes >> 11),
    (frameBytes >> 3) & 0xff,
    ((frameBytes & 7) << 5) | 0x1f,
    0xfc,
  ]);
  return Buffer.concat(Array.from({ length: Math.ceil((seconds * 44_100) / 1024) }, () => frame));
}

/** Opus in Ogg: packets of 60 ms, ten to a page. `claimed` is the length by the positions of the pages. */
export function oggFile(seconds: number, packetBytes: number, claimed = seconds): Buffer {
  const packet = Buffer.alloc(packetBytes);
  // One frame of 60 ms.
  packet[0] = 3 << 3;
  const page = (flags: number, position: number, packets: readonly Buffer[]): Buffer => {
    const header = Buffer.alloc(27 + packets.length);
    header.write('OggS', 0, 'latin1');
    header[5] = flags;
    header.writeUInt32LE(position, 6);
    header.writeUInt32LE(7, 14);
    header[26] = packets.length;
    for (const [n, one] of packets.entries()) header[27 + n] = one.length;
    return Buffer.concat([header, ...packets]);
  };
  const head = Buffer.concat([Buffer.from('OpusHead', 'latin1'), Buffer.alloc(11)]);
  const tags = Buffer.concat([Buffer.from('OpusTags', 'latin1'), Buffer.alloc(8)]);
  const pages = Array.from({ length: Math.ceil(seconds / 0.6) }, (_, n) =>
    page(0, Math.min(claimed * 48_000, n * 28_800), Array<Buffer>(10).fill(packet)),
  );
  return Buffer.concat([page(2, 0, [head]), page(0, 0, [tags]), ...pages]);
}

/** 16 bits, two channels, 44.1 kHz; the content is not decodable. */
export function flacFile(seconds: number, bytes: number): Buffer {
  const file = Buffer.alloc(Math.max(bytes, 42));
  file.write('fLaC', 0, 'latin1');
  file.writeUInt32BE(34, 4);
  file.writeUIntBE((44_100 << 4) | (1 << 1), 18, 3);
  file[21] = 15 << 4;
  file.writeUInt32BE(seconds * 44_100, 22);
  return file;
}

const box = (type: string, ...content: Buffer[]): Buffer => {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(8 + content.reduce((sum, { length }) => sum + length, 0));
  header.write(type, 4, 'latin1');
  return Buffer.concat([header, ...content]);
};
const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [n, value] of values.entries()) bytes.writeUInt32BE(value, n * 4);
  return bytes;
};

/** AAC at 8 kHz in MP4. Every frame lasts 128 ms, and `tick` says how long the table claims it to be, in samples. */
export function mp4File(seconds: number, { tick = 1024, isFragmented = false, isVideo = false } = {}): Buffer {
  const frames = Math.ceil((seconds * 8_000) / 1024);
  const handler = Buffer.from(isVideo ? 'vide' : 'soun', 'latin1');
  const entry = box(isVideo ? 'avc1' : 'mp4a', Buffer.alloc(8), Buffer.alloc(16), u32(8_000 * 65_536));
  const times = isFragmented ? u32(0, 0) : u32(0, 1, frames, tick);
  const table = box('stbl', box('stsd', u32(0, 1), entry), box('stts', times));
  const media = box(
    'mdia',
    box('mdhd', u32(0, 0, 0, 8_000, 0, 0)),
    box('hdlr', u32(0, 0), handler, u32(0, 0, 0)),
    box('minf', table),
  );
  const track = box('trak', box('tkhd', u32(0, 0, 0, 1, 0)), media);
  const extension = isFragmented ? [box('mvex', box('trex', u32(0, 1, 1, tick, 0, 0)))] : [];
  const movie = box('moov', box('mvhd', u32(0, 0, 0, 8_000, 8_000)), track, ...extension);
  const run = box('traf', box('tfhd', u32(0, 1)), box('trun', u32(0, frames)));
  const fragment = isFragmented ? [box('moof', box('mfhd', u32(0, 1)), run)] : [];
  return Buffer.concat([box('ftyp', Buffer.from('isom', 'latin1'), u32(0)), movie, ...fragment, box('mdat')]);
}

/** Ids and sizes of two bytes where they are not given. */
const element = (id: readonly number[], content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([...id, 0x40 | (content.length >> 8), content.length & 0xff]), content]);

/**
 * One block a second. Clusters of ten blocks, of unknown size, as browsers record them; the header states no length or
 * `stated` ms.
 */
export function webmFile(seconds: number, stated?: number): Buffer {
  const open = Buffer.from([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
  const duration = Buffer.alloc(4);
  duration.writeFloatBE(stated ?? 0);
  const info = element(
    [0x15, 0x49, 0xa9, 0x66],
    stated === undefined ? Buffer.alloc(0) : element([0x44, 0x89], duration),
  );
  const tracks = element([0x16, 0x54, 0xae, 0x6b], element([0xae], element([0x83], Buffer.from([2]))));
  const clusters = Array.from({ length: Math.ceil(seconds / 10) }, (_, n) => {
    const blocks = Array.from({ length: 10 }, (_block, second) => {
      const ticks = second * 1000;
      return element([0xa3], Buffer.from([0x81, ticks >> 8, ticks & 0xff, 0]));
    });
    return Buffer.concat([Buffer.from([0x1f, 0x43, 0xb6, 0x75]), open, element([0xe7], u32(n * 10_000)), ...blocks]);
  });
  const head = Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 0x80, 0x18, 0x53, 0x80, 0x67]);
  return Buffer.concat([head, open, info, tracks, ...clusters]);
}
