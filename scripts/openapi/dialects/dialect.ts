/**
 * What the reference says about a dialect: the fields that clients commonly use, of requests and of replies. Objects
 * are open, because the gateway forwards or converts the others too. A test compares the names with the types of the
 * SDKs.
 */
import { BOOLEAN, type Members, optional, type Schemas } from '../schema.ts';

export interface DialectSchemas {
  readonly schemas: Schemas;
  /** Names in `schemas`. */
  readonly request: string;
  readonly reply: string;
  readonly replyExample: object;
  /** Of a streamed reply. */
  readonly streamAbout: string;
  readonly streamExample: string;
}

/** Of a request with a choice. */
export const STREAM: Members = { stream: optional(BOOLEAN, 'true: the reply is sent as server-sent events') };

export const streamText = (
  ...events: readonly (readonly [name: string | undefined, data: object | string])[]
): string =>
  events
    .map(([name, data]) => {
      const line = `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
      return name === undefined ? line : `event: ${name}\n${line}`;
    })
    .join('');
