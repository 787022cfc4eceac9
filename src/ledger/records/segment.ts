/** Segment files of a journal: how records are framed, written and read back. */
import { close, fdatasync, openSync, writeSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { decodeRecord, type UsageRecord } from '../usage-record.ts';

/**
 * An open segment file. Synchronous: the kernel copies a few hundred bytes in microseconds,
 * and a thread costs several times that.
 */
export interface SegmentFile {
  /** Writes the bytes from `offset` on and returns how many of them were written. */
  write(bytes: Uint8Array, offset: number): number;
  datasync(): Promise<void>;
  close(): void;
}

const datasync = promisify(fdatasync);

/** Fails when the folder is gone: records in an unlinked folder would never be recovered. */
export function openForAppend(path: string): SegmentFile {
  const fd = openSync(path, 'ax', 0o600);
  return {
    write: (bytes, offset) => writeSync(fd, bytes, offset),
    datasync: () => datasync(fd),
    // Write errors were reported by `write` already.
    close: () => close(fd, () => {}),
  };
}

export const segmentName = (number: number): string => `${String(number).padStart(8, '0')}.log`;
const SEGMENT_NAME = /^\d{8}\.log$/;

export async function listSegments(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => SEGMENT_NAME.test(name)).sort();
  return names.map((name) => join(dir, name));
}

export interface SegmentContents {
  readonly records: readonly UsageRecord[];
  /**
   * Complete lines with a wrong length or checksum. A torn last line is not counted: its write was never acknowledged.
   */
  readonly damaged: number;
}

export async function readSegment(path: string): Promise<SegmentContents> {
  const bytes = await readFile(path);
  const records: UsageRecord[] = [];
  let damaged = 0;
  for (let at = 0; at < bytes.length; ) {
    // The JSON text contains no line breaks, so a damaged line does not affect the next one.
    const end = bytes.indexOf(NEWLINE, at);
    if (end < 0) break;
    const record = readFrame(bytes.subarray(at, end));
    if (record) records.push(record);
    else damaged += 1;
    at = end + 1;
  }
  return { records, damaged };
}

const NEWLINE = 10;
const HEADER = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/;
const HEADER_BYTES = 18;

export const frameOf = (text: string): string => `${hex(Buffer.byteLength(text))} ${hex(crc32(text))} ${text}\n`;

function readFrame(line: Buffer): UsageRecord | undefined {
  const [, length, sum] = HEADER.exec(line.toString('latin1', 0, HEADER_BYTES)) ?? [];
  const text = line.subarray(HEADER_BYTES);
  if (length !== hex(text.length) || sum !== hex(crc32(text))) return undefined;
  return decodeRecord(text.toString());
}

/** Table lookup, because `toString(16)` formats 32-bit numbers digit by digit. */
const hex = (number: number): string =>
  `${BYTES[number >>> 24]}${BYTES[(number >>> 16) & 255]}${BYTES[(number >>> 8) & 255]}${BYTES[number & 255]}`;
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
