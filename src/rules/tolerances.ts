/**
 * Replies that deviate from the wire format of their dialect, by the servers that sent them, and how the gateway reads
 * them.
 */
import type { Dialect } from './groups.ts';

export interface Tolerance {
  readonly dialect: Dialect | 'every dialect';
  /** Where it was seen. Any server is read in this way. */
  readonly servers: string;
  readonly sends: string;
  readonly readAs: string;
}

export const TOLERANCES = {
  emptyMembers: {
    dialect: 'chat',
    servers: 'Snowflake Cortex',
    sends:
      'unused members that are present but empty: `function_call` and `custom` without a name, `audio` without an id, `refusal: ""`, `tool_calls: null`',
    readAs: 'the members are absent',
  },
  noFinishReason: {
    dialect: 'chat',
    servers: 'Snowflake Cortex',
    sends: '`finish_reason: ""`, or a stream without one that ends with usage and `[DONE]`',
    readAs: 'a complete reply: it stopped for its calls, or by itself',
  },
  noTerminalEvent: {
    dialect: 'chat',
    servers: 'Perplexity, GPUStack',
    sends: 'a stream that ends after its finish reason or usage, without `[DONE]`',
    readAs: 'a complete reply, if the connection ends properly; native clients get the missing `[DONE]`',
  },
  earlyAnnotations: {
    dialect: 'chat',
    servers: 'OpenRouter with web search',
    sends: 'annotations before the first text',
    readAs: 'citations of the text that follows',
  },
  repeatedStart: {
    dialect: 'messages',
    servers: 'proxies in front of Anthropic',
    sends: '`message_start` again with the id of the open message',
    readAs:
      'nothing; a start with another id after content is an error, because the client cannot forget the first message',
  },
  repeatedEnd: {
    dialect: 'generate',
    servers: 'proxies in front of Gemini',
    sends: 'the chunk with the finish reason again, or a part of a call after it',
    readAs: 'nothing: a call counts once',
  },
  earlyEnd: {
    dialect: 'generate',
    servers: 'CLIProxyAPI, older Gemini models',
    sends: 'a finish reason with every chunk, or with an empty one before the content',
    readAs: 'one reply, which ends with the stream',
  },
  overlappingCache: {
    dialect: 'every dialect',
    servers: 'OpenRouter with Gemini, Azure with Grok',
    sends: 'cached and cache-written tokens that exceed the prompt, alone or together',
    readAs: 'cache reads up to the prompt, cache writes up to the rest of it',
  },
} as const satisfies Record<string, Tolerance>;

export type ToleranceName = keyof typeof TOLERANCES;
