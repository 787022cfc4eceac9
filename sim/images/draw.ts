/** Draws the pictures of the simulated providers: labelled patterns of the exact size and type that was requested. */
import { checkerPng } from '../png.ts';
import { loadEncoder } from './encoder.ts';
import { padFile } from './padding.ts';
import type { Picture } from './picture.ts';

export async function drawPicture(picture: Picture, hasEncoder: boolean): Promise<Buffer> {
  const encode = hasEncoder ? await loadEncoder() : undefined;
  const file = encode ? await encode(picture) : plainFile(picture);
  return picture.bytes === undefined ? file : padFile(file, picture, picture.bytes);
}

/** A PNG without text, for installations that have no encoder. */
function plainFile({ width, height, isTransparent, index, partial = -1 }: Picture): Buffer {
  return checkerPng({ width, height, isTransparent, blue: (64 + index * 32 + (partial + 1) * 8) & 255 });
}
