/** Replies that deviate from the wire format of their dialect, by the servers that sent them, and how the gateway reads them. */
import type { Dialect } from './groups.ts';
import { rowsIn } from './notation.ts';

export interface Tolerance {
  readonly dialect: Dialect | 'every dialect';
  /** Where it was seen. Any server is read in this way. */
  readonly servers: string;
  readonly sends: string;
  readonly readAs: string;
}

/** A line is `name: dialect | servers | what they send | how it is read`. */
export const TOLERANCES = rowsIn(
  `
emptyMembers: chat | Snowflake Cortex
  | unused members that are present but empty: 'function_call' and 'custom' without a name, 'audio' without an id, 'refusal: ""', 'tool_calls: null'
  | the members are absent
noFinishReason: chat | Snowflake Cortex
  | 'finish_reason: ""', or a stream without one that ends with usage and '[DONE]'
  | a complete reply: it stopped for its calls, or by itself
noTerminalEvent: chat | Perplexity, GPUStack
  | a stream that ends after its finish reason or usage, without '[DONE]'
  | a complete reply, if the connection ends properly; native clients get the missing '[DONE]'
earlyAnnotations: chat | OpenRouter with web search
  | annotations before the first text
  | citations of the text that follows
repeatedStart: messages | proxies in front of Anthropic
  | 'message_start' again with the id of the open message
  | nothing; a start with another id after content is an error, because the client cannot forget the first message
repeatedEnd: generate | proxies in front of Gemini
  | the chunk with the finish reason again, or a part of a call after it
  | nothing: a call counts once
earlyEnd: generate | CLIProxyAPI, older Gemini models
  | a finish reason with every chunk, or with an empty one before the content
  | one reply, which ends with the stream
overlappingCache: every dialect | OpenRouter with Gemini, Azure with Grok
  | cached and cache-written tokens that exceed the prompt, alone or together
  | cache reads up to the prompt, cache writes up to the rest of it
`,
  ([dialect, servers = '', sends = '', readAs = '']): Tolerance => ({
    ...{ dialect: dialect as Tolerance['dialect'], servers, sends, readAs },
  }),
);

export type ToleranceName = keyof typeof TOLERANCES;
