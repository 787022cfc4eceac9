/** The image endpoints of the OpenAI-style provider. */
import { openaiError, statusFailure } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { omitMembers } from '../faults.ts';
import type { Body, Frame } from '../frames.ts';
import { nowSeconds } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { sendStream } from '../stream.ts';
import { distortUsage } from '../usage.ts';
import type { EncodedPicture } from './cache.ts';
import { countInputs } from './inputs.ts';
import { type ImageOptions, type Look, lookMembers, pictureOf, readOptions } from './options.ts';
import { imageUsage } from './usage.ts';

export async function generateImages(exchange: Exchange): Promise<void> {
  await sendImages(exchange, await readOptions(exchange.json, 0, exchange.state.pictures), 'image_generation');
}

/** The edit is a form in the older API and JSON with `images` in the newer one. */
export async function editImages(exchange: Exchange): Promise<void> {
  const imagesIn = countInputs(exchange);
  await sendImages(exchange, await readOptions(exchange.json, imagesIn, exchange.state.pictures), 'image_edit');
}

async function sendImages(exchange: Exchange, options: ImageOptions, kind: string): Promise<void> {
  const { fault } = exchange;
  const { look } = options;
  const count = fault.pictures ?? options.count;
  const usage = distortUsage(imageUsage({ ...options, count }), fault.usage);
  const series: Series = { kind, count, look, members: omitMembers(lookMembers(look), fault) };
  const closing = omitMembers({ usage }, fault);
  if (options.isStream) return sendStream(exchange, { frames: frames(exchange, series, closing), failure });
  const drawings = Array.from({ length: count }, (_unused, index) => draw(exchange, look, index));
  const pictures = await Promise.all(drawings);
  const data = pictures.map(() => ({ b64_json: '' }));
  await exchange.sendJsonText(insertPictures({ created: nowSeconds(), data, ...series.members, ...closing }, pictures));

  function failure(): Frame[] {
    const error = openaiError(statusFailure('openai', fault));
    return [{ event: 'error', data: JSON.stringify({ type: 'error', error }) }];
  }
}

interface Series {
  /** Prefix of the event names. */
  kind: string;
  count: number;
  look: Look;
  members: JsonObject;
}

/** Draws each picture when its event is due, so that a client reads the first one early. */
async function* frames(exchange: Exchange, series: Series, closing: JsonObject): AsyncGenerator<Frame> {
  const { kind, count, look, members } = series;
  const emit = (type: string, picture: EncodedPicture, data: JsonObject, flags: Partial<Frame>): Frame => {
    const event = { type, b64_json: '', ...data, created_at: nowSeconds(), ...members };
    return { event: type, data: insertPictures(event, [picture]), ...flags };
  };
  for (let index = 0; index < count; index++) {
    for (let partial = 0; partial < look.partials; partial++) {
      const data = { partial_image_index: partial };
      const picture = await draw(exchange, look, index, partial);
      yield emit(`${kind}.partial_image`, picture, data, { content: true });
    }
    yield emit(`${kind}.completed`, await draw(exchange, look, index), closing, { last: true });
  }
}

function draw(exchange: Exchange, look: Look, index: number, partial?: number): Promise<EncodedPicture> {
  const picture = pictureOf(look, index, exchange.fault);
  return exchange.state.pictures.get(partial === undefined ? picture : { ...picture, partial });
}

/** JSON text with the pictures in place of the empty `b64_json` members. Their bytes are shared, not copied. */
function insertPictures(json: JsonObject, pictures: readonly EncodedPicture[]): Body {
  const texts = JSON.stringify(json).split('"b64_json":""');
  return texts.flatMap((text, index) => {
    const picture = pictures[index - 1];
    return picture === undefined ? [text] : ['"b64_json":"', picture.base64, `"${text}`];
  });
}
