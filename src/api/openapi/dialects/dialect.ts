/**
 * What the reference says about a dialect: the fields that clients commonly use, of requests and of replies. Objects are open, because
 * the gateway forwards or converts the others too. A test compares the names with the types of the SDKs.
 */
import { described, type Schema, TEXT } from '../schema.ts';

export interface DialectSchemas {
  readonly schemas: Readonly<Record<string, Schema>>;
  /** Names in `schemas`. */
  readonly request: string;
  readonly reply: string;
  readonly replyExample: object;
  /** Of a streamed reply. */
  readonly streamAbout: string;
  readonly streamExample: string;
}

export const MODEL = described('name of a model that the key may use', { ...TEXT, minLength: 1 });
export const STREAM = described('true: the reply is sent as server-sent events', { type: 'boolean' });
/** Of tools and of structured replies. */
export const JSON_SCHEMA = described('a JSON Schema', { type: 'object', additionalProperties: true });

export const streamText = (
  ...events: readonly (readonly [name: string | undefined, data: object | string])[]
): string =>
  events
    .map(([name, data]) => {
      const line = `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
      return name === undefined ? line : `event: ${name}\n${line}`;
    })
    .join('');
