/**
 * Words of the generateContent wire that several files share. Requests may be spelled in camelCase or snake_case, so they
 * are read through `field`; answers of the provider are camelCase only and are read directly.
 */
import type { Style } from '../../rules/index.ts';
import type { JsonObject } from '../hub/types.ts';
import { given } from '../wire/read.ts';

export const ISSUER: Style = 'generate-content';

/** One entry of `parts`: exactly one data member, plus attributes such as `thought` and `thoughtSignature`. */
export type WirePart = Readonly<Record<string, unknown>>;
export interface WireContent {
  readonly role: 'user' | 'model';
  readonly parts: readonly WirePart[];
}

/** `holder.camelName`, or `holder.camel_name` where that is how the client spells it. */
export const field = (holder: JsonObject, camel: string): unknown =>
  given(holder[camel]) ? holder[camel] : (holder[snakeOf(camel)] ?? undefined);

const SNAKE = new Map<string, string>();
export function snakeOf(camel: string): string {
  let snake = SNAKE.get(camel);
  if (snake === undefined) {
    snake = camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    SNAKE.set(camel, snake);
  }
  return snake;
}

/** Which kind of hub part holds bytes of this type. */
export function mediaKind(mime: string): 'image' | 'audio' | 'video' | 'file' {
  const family = mime.slice(0, mime.indexOf('/'));
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'file';
}
