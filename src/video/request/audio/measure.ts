/** Playing time of inline audio, by the format of its data URL. */
import type { AudioLength, ByteSource } from '../byte-source.ts';
import { mp3Length } from './mp3.ts';
import { wavLength } from './wav.ts';

const READERS: Readonly<Record<string, (source: ByteSource, enough: number) => AudioLength | undefined>> = {
  wav: wavLength,
  mp3: mp3Length,
};

/** Undefined when the bytes are not such a file. Stops at `enough` seconds, so that a long file costs no more than a short one. */
export const measureAudio = (format: string, source: ByteSource, enough: number): AudioLength | undefined =>
  READERS[format]?.(source, enough);
