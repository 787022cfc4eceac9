/** What a manner is: something that real providers were recorded to do, and their documents do not say. Types only. */
import type { Chance } from '../chance.ts';
import type { JsonObject } from '../json.ts';

export const DIALECTS = ['chat', 'messages', 'responses', 'generate'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** `socket`: a turn on a WebSocket. */
export type Mode = 'unary' | 'stream' | 'socket';

/**
 * What the client of a gateway must still get. `harmless`: the same reply as without it. `shown`: the same, but a client
 * of the provider's own dialect gets what the provider sent. `fault`: the reply of another account, or one error in its
 * dialect.
 */
export type Effect = 'harmless' | 'shown' | 'fault';

/** One event of a stream. The mark `[DONE]` is a text. */
export interface StreamEvent {
  name?: string | undefined;
  data: JsonObject | string;
}

/** A response as it goes over HTTP. */
export interface Message {
  headers: Record<string, string>;
  body: Buffer;
}

/** Each member changes one layer, in this order; a manner applies to the modes that have one of its layers. */
export interface Manner {
  about: string;
  /** Where it was recorded. */
  seen: string;
  effect: Effect;
  dialects: readonly Dialect[];
  /** The provider reports no usage, so that it is estimated. */
  hidesUsage?: true;
  events?(events: StreamEvent[], chance: Chance): StreamEvent[];
  /** The JSON of a unary response. */
  reply?(reply: JsonObject, chance: Chance): JsonObject;
  /** The text of server-sent events. */
  spelling?(text: string, chance: Chance): string;
  message?(message: Message, chance: Chance): Message;
  /** The content encoding and its bytes; of several manners the last one encodes. */
  encoding?: { name: string; encode(body: Buffer): Buffer };
  /** The writes in which a body is sent. */
  pieces?(body: Buffer, chance: Chance): Buffer[];
  /** Sends a unary reply in place of a stream, or a stream in place of a unary reply. */
  swapsForm?: true;
}

export type Manners = Record<string, Manner>;
