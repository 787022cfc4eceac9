/**
 * The generateContent wire. Clients send camelCase or snake_case, so
 * requests are read through `field`. Providers use camelCase.
 */
import type { Style } from '../../rules/index.ts';
import type { JsonObject } from '../hub/types.ts';
import { isGiven, type Reader } from '../wire/read.ts';

export const ISSUER: Style = 'generate-content';

/** One entry of `parts`: exactly one data member, plus attributes such as `thought` and `thoughtSignature`. */
export type WirePart = Readonly<Record<string, unknown>>;
export interface WireContent {
  readonly role: 'user' | 'model';
  readonly parts: readonly WirePart[];
}

/** Returns `holder.camelName`, or else `holder.camel_name`. */
export const field = (holder: JsonObject, camel: string): unknown =>
  isGiven(holder[camel]) ? holder[camel] : (holder[snakeOf(camel)] ?? undefined);

/** Reads the field in either spelling; undefined if it is absent. */
export function optionalField<T>(holder: JsonObject, name: string, read: Reader<T>, at = ''): T | undefined {
  const value = field(holder, name);
  return isGiven(value) ? read(value, at ? `${at}.${name}` : name) : undefined;
}

const SNAKE = new Map<string, string>();
export function snakeOf(camel: string): string {
  let snake = SNAKE.get(camel);
  if (snake === undefined) {
    snake = camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    SNAKE.set(camel, snake);
  }
  return snake;
}

/** Returns the kind of hub part for a media type. */
export function mediaKind(mime: string): 'image' | 'audio' | 'video' | 'file' {
  const family = mime.slice(0, mime.indexOf('/'));
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'file';
}
