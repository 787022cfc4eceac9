/** A cache of drawn pictures, so that parallel requests for the same one share its drawing and its memory. */
import { checkerPng } from '../png.ts';
import { loadEncoder } from './encoder.ts';
import { padFile } from './padding.ts';
import type { Picture, PictureFormat } from './picture.ts';

/** Room for two pictures of 50 MB. */
const KEEP_BYTES = 288 << 20;

/** A file in base64, for the wire as bytes and for JSON trees as a string. */
export class EncodedPicture {
  readonly base64: Buffer;
  #text: string | undefined;

  constructor(file: Buffer) {
    this.base64 = Buffer.from(file.toString('base64'), 'latin1');
  }

  get text(): string {
    this.#text ??= this.base64.toString('latin1');
    return this.#text;
  }

  /** Bytes in memory, at most. */
  get weight(): number {
    return this.base64.length * 2;
  }
}

interface Entry {
  readonly drawing: Promise<EncodedPicture>;
  /** 0 while the picture is being drawn. */
  weight: number;
}

export class PictureCache {
  readonly #hasEncoder: boolean;
  /** By parameters; the oldest use first. */
  readonly #entries = new Map<string, Entry>();
  #weight = 0;
  /** Number of pictures drawn so far, for tests. */
  drawn = 0;

  /** Without the encoder only PNG can be drawn. */
  constructor(hasEncoder: boolean) {
    this.#hasEncoder = hasEncoder;
  }

  async canDraw(format: PictureFormat): Promise<boolean> {
    return format === 'png' || (this.#hasEncoder && (await loadEncoder()) !== undefined);
  }

  get(picture: Picture): Promise<EncodedPicture> {
    const key = JSON.stringify(picture);
    const entry = this.#entries.get(key) ?? this.#draw(key, picture);
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.drawing;
  }

  #draw(key: string, picture: Picture): Entry {
    this.drawn += 1;
    const drawing = drawPicture(picture, this.#hasEncoder).then((file) => new EncodedPicture(file));
    const entry: Entry = { drawing, weight: 0 };
    drawing.then(
      ({ weight }) => this.#keep(entry, weight),
      () => this.#entries.delete(key),
    );
    return entry;
  }

  #keep(entry: Entry, weight: number): void {
    entry.weight = weight;
    this.#weight += weight;
    for (const [key, old] of this.#entries) {
      if (this.#weight <= KEEP_BYTES) return;
      if (old.weight === 0) continue;
      this.#weight -= old.weight;
      this.#entries.delete(key);
    }
  }
}

async function drawPicture(picture: Picture, hasEncoder: boolean): Promise<Buffer> {
  const encode = hasEncoder ? await loadEncoder() : undefined;
  const file = encode ? await encode(picture) : plainFile(picture);
  return picture.bytes === undefined ? file : padFile(file, picture, picture.bytes);
}

/** A PNG without text, for installations that have no encoder. */
function plainFile({ width, height, isTransparent, index, partial = -1 }: Picture): Buffer {
  return checkerPng({ width, height, isTransparent, blue: (64 + index * 32 + (partial + 1) * 8) & 255 });
}
