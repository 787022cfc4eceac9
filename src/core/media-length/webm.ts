/**
 * The length of WebM and Matroska: the latest time of any block, or the
 * header's if that is more. Files from browsers state none.
 */
import { type FileBytes, type FileSteps, uint } from './bytes.ts';
import type { Stated } from './mp4.ts';

const ID = {
  segment: 0x18538067,
  info: 0x1549a966,
  tickNanos: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  track: 0xae,
  trackType: 0x83,
  cluster: 0x1f43b675,
  time: 0xe7,
  group: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;
/** Elements whose content is visited as if it stood beside them. */
const OPENED: ReadonlySet<number> = new Set([ID.segment, ID.info, ID.tracks, ID.track, ID.cluster, ID.group]);
const VIDEO = 1;
const DEFAULT_TICK_NANOS = 1_000_000;

/** Undefined for files that are damaged or too long to be read. */
export function webmLength(file: FileBytes, steps: FileSteps): Stated | undefined {
  let [tickNanos, stated, latest, cluster] = [DEFAULT_TICK_NANOS, 0, 0, 0];
  let hasVideo = false;
  const isRead = visit(file, steps, (id, start, size) => {
    if (id === ID.tickNanos) tickNanos = uint(file, start, Math.min(size, 6));
    else if (id === ID.duration) stated = floatAt(file, start, size);
    else if (id === ID.trackType) hasVideo ||= file.at(start) === VIDEO;
    else if (id === ID.time) cluster = uint(file, start, Math.min(size, 6));
    else if (id === ID.block || id === ID.simpleBlock)
      latest = Math.max(latest, cluster + signed(uint(file, start + bytesOfNumber(file, start), 2)));
  });
  const ticks = Math.max(stated, latest);
  return isRead && ticks > 0 ? { seconds: (ticks * tickNanos) / 1e9, hasVideo } : undefined;
}

/** Visits elements in their order. False where the bytes are not elements, or too many. */
function visit(file: FileBytes, steps: FileSteps, seen: (id: number, start: number, size: number) => void): boolean {
  let at = 0;
  while (at < file.size) {
    const idBytes = bytesOfNumber(file, at);
    const sizeBytes = bytesOfNumber(file, at + idBytes);
    if (idBytes > 4 || sizeBytes > 8 || !steps.take()) return false;
    const id = uint(file, at, idBytes);
    const start = at + idBytes + sizeBytes;
    const size = sizeAt(file, at + idBytes, sizeBytes);
    if (OPENED.has(id)) at = start;
    else {
      // Only elements that are opened may leave their size open.
      if (size === undefined || start + size > file.size) return false;
      seen(id, start, size);
      at = start + size;
    }
  }
  return true;
}

const signed = (value: number): number => (value < 0x8000 ? value : value - 0x10000);

/** Zero bits at the front say how many bytes a number has. */
const bytesOfNumber = (file: FileBytes, at: number): number => Math.clz32(file.at(at)) - 23;

function sizeAt(file: FileBytes, at: number, bytes: number): number | undefined {
  const largest = 2 ** (8 - bytes) - 1;
  const first = file.at(at) & largest;
  const size = first * 2 ** (8 * (bytes - 1)) + (bytes === 8 ? uint(file, at + 2, 6) : uint(file, at + 1, bytes - 1));
  const isOpen =
    first === largest && uint(file, at + 1, Math.min(bytes - 1, 6)) === 2 ** (8 * Math.min(bytes - 1, 6)) - 1;
  return isOpen ? undefined : size;
}

function floatAt(file: FileBytes, at: number, size: number): number {
  const bytes = Buffer.from(Array.from({ length: Math.min(size, 8) }, (_, n) => file.at(at + n)));
  if (bytes.length !== 8 && bytes.length !== 4) return 0;
  const value = bytes.length === 8 ? bytes.readDoubleBE() : bytes.readFloatBE();
  return value > 0 ? value : 0;
}
