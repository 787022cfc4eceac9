/** Media type detection by magic bytes. Trusts the content-type header only where the bytes cannot decide. */

const UNKNOWN = 'application/octet-stream';

const SIGNATURES: readonly (readonly [mime: string, fits: (bytes: Buffer) => boolean])[] = [
  ['image/png', (bytes) => has(bytes, 0, '\x89PNG\r\n\x1a\n')],
  ['image/jpeg', (bytes) => has(bytes, 0, '\xff\xd8\xff')],
  ['image/gif', (bytes) => has(bytes, 0, 'GIF87a') || has(bytes, 0, 'GIF89a')],
  ['image/webp', (bytes) => has(bytes, 0, 'RIFF') && has(bytes, 8, 'WEBP')],
  ['application/pdf', (bytes) => has(bytes, 0, '%PDF-')],
  ['audio/wav', (bytes) => has(bytes, 0, 'RIFF') && has(bytes, 8, 'WAVE')],
  ['audio/mpeg', (bytes) => has(bytes, 0, 'ID3') || isMp3Frame(bytes)],
];

/** Types that always have their signature. An MP3 may start with anything, so a missing signature proves nothing. */
const PROVABLE = new Set(SIGNATURES.map(([mime]) => mime).filter((mime) => mime !== 'audio/mpeg'));

const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'application/x-pdf': 'application/pdf',
  'audio/wave': 'audio/wav',
  'audio/x-wav': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/mp3': 'audio/mpeg',
  'audio/x-mp3': 'audio/mpeg',
  'audio/x-mpeg': 'audio/mpeg',
};

/** The media type of `bytes`. The bytes override the content-type `header`; a type without its required signature is ignored. */
export function detectMime(bytes: Buffer, header: string | undefined): string {
  const seen = SIGNATURES.find(([, fits]) => fits(bytes))?.[0];
  if (seen) return seen;
  const claimed = claimedMime(header);
  return PROVABLE.has(claimed) ? UNKNOWN : claimed;
}

/** `Image/JPG; charset=x` -> `image/jpeg`; without a usable header `application/octet-stream`. */
export function claimedMime(header: string | undefined): string {
  const mime = header?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(mime) || mime === 'binary/octet-stream') return UNKNOWN;
  return ALIASES[mime] ?? mime;
}

export const isUnknown = (mime: string): boolean => mime === UNKNOWN;

const has = (bytes: Buffer, at: number, signature: string): boolean =>
  bytes.toString('latin1', at, at + signature.length) === signature;

/** Checks 11 sync bits, a known version, layer III, a known bit rate and sample rate. AAC and UTF-16 fail one of them. */
function isMp3Frame(bytes: Buffer): boolean {
  const [sync = 0, kind = 0, rate = 0] = bytes;
  return (
    sync === 0xff &&
    (kind & 0xe0) === 0xe0 &&
    (kind & 0x18) !== 0x08 &&
    (kind & 0x06) === 0x02 &&
    rate >> 4 !== 0 &&
    rate >> 4 !== 15 &&
    (rate & 0x0c) !== 0x0c
  );
}
