/**
 * What an image call made and used, read beside the response without keeping its pictures:
 * as many as were returned, as the provider names them.
 */
import { blockData, blocksOf, GrowingBuffer, JsonElider, valueOfJson } from '../../../core/index.ts';
import { codecOf, type HubUsage, NO_USAGE } from '../../../dialects/index.ts';
import { imageTokens, TOKENS_PER_INPUT_IMAGE } from '../../../rules/index.ts';
import type { ImageCount } from '../../billing/call-facts.ts';
import { estimateText } from '../../billing/request-tokens.ts';
import type { ImageSettings } from '../../images/fields.ts';
import { NOTHING, type Tap, type TapResult } from '../usage-tap.ts';

export interface RequestedImages {
  readonly settings: ImageSettings;
  readonly files: number;
}

/** A response without its pictures is a few hundred bytes for each of them. */
const MAX_KEPT_BYTES = 2 ** 20;

export class ImageTap implements Tap {
  /** Pictures are not counted as text. */
  readonly outputTokens = 0;
  readonly isFinishing = false;
  readonly #requested: RequestedImages;
  readonly #isSse: boolean;
  readonly #elider = new JsonElider();
  readonly #joined = new GrowingBuffer();
  #kept: Buffer = Buffer.alloc(0);
  #keptBytes = 0;

  constructor(requested: RequestedImages, isSse: boolean) {
    this.#requested = requested;
    this.#isSse = isSse;
  }

  push(chunk: Buffer): void {
    for (const piece of this.#elider.push(chunk)) {
      this.#keptBytes += piece.length;
      // A copy: the chunk is a thousand times as long.
      if (this.#keptBytes <= MAX_KEPT_BYTES) this.#kept = this.#joined.join(this.#kept, piece);
    }
  }

  end(): TapResult {
    const { settings } = this.#requested;
    const text = this.#kept;
    // Too much beside the pictures: the response counts as complete, because its HTTP framing was.
    if (this.#keptBytes > MAX_KEPT_BYTES)
      return { ...NOTHING, isComplete: true, images: requestedCount(this.#requested) };
    const { pictures, isComplete, isError } = this.#isSse ? readEvents(text) : readBody(text);
    return {
      ...NOTHING,
      usage: usageOf(pictures.findLast(({ usage }) => usage !== undefined)?.usage),
      isComplete,
      isError,
      images: { kind: kindOf(pictures.at(-1) ?? {}, settings), count: pictures.length },
    };
  }
}

type Picture = Readonly<Partial<Record<'size' | 'quality' | 'usage', unknown>>>;

function readBody(text: Buffer) {
  const body = parse(text.toString('utf8'));
  const { data } = (body ?? {}) as { data?: unknown };
  const pictures: Picture[] = body && Array.isArray(data) ? data.map(() => body) : [];
  return { pictures, isComplete: body !== undefined, isError: pictures.length === 0 && body?.error !== undefined };
}

function readEvents(text: Buffer) {
  const events = blocksOf(text).flatMap((block) => parse(blockData(block.toString('utf8'))) ?? []);
  const last = events.at(-1);
  return {
    pictures: events.filter(isCompleted),
    isComplete: last !== undefined && (isCompleted(last) || last.error !== undefined),
    isError: last?.error !== undefined,
  };
}

interface ImageEvent extends Picture {
  readonly type?: unknown;
  readonly error?: unknown;
}
const isCompleted = ({ type }: ImageEvent): boolean =>
  type === 'image_generation.completed' || type === 'image_edit.completed';

function parse(text: string): ImageEvent | undefined {
  const value = valueOfJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}

/** Everything that an image model writes is an image, unless it reports otherwise. */
function usageOf(reported: unknown): HubUsage | undefined {
  const usage = codecOf('responses').upstream.readUsage(reported);
  return usage && usage.outputImage === undefined ? { ...usage, outputImage: usage.output } : usage;
}

/** "1024x1024/high", as prices name it. */
const kindOf = (made: Picture, asked: ImageSettings): string =>
  `${wordOf(made.size) ?? asked.size}/${wordOf(made.quality) ?? asked.quality}`;
const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[\w.-]{1,32}$/.test(value) ? value : undefined;

export const requestedCount = ({ settings }: RequestedImages): ImageCount => ({
  kind: kindOf({}, settings),
  count: settings.count,
});

/** Qualities whose tokens a provider has stated. */
const STATED: ReadonlySet<string> = new Set(['low', 'medium', 'high']);

/** Where the provider reports no usage. Its own choice of a quality is the medium one most of the time. */
export function estimateImageUsage({ settings, files }: RequestedImages, { kind, count }: ImageCount): HubUsage {
  const [size = 'auto', quality = 'auto'] = kind.split('/');
  const { partialImages, prompt, format } = settings;
  const stated = STATED.has(quality) ? quality : 'high';
  const usual = quality === 'auto' ? 'medium' : stated;
  const each = imageTokens({ size, quality: usual, partialImages, format });
  const inputImage = files * Math.ceil(TOKENS_PER_INPUT_IMAGE / USUAL_SHARE);
  const output = each * count;
  const input = estimateText(prompt) + inputImage;
  return { ...NO_USAGE, input, inputImage, output, outputImage: output, estimated: true };
}

/** The bound of an input image is this many times the tokens of an ordinary one. */
const USUAL_SHARE = 8;
