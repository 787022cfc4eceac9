/** The four text dialects of the playground: where a conversation is sent, as what, and how its reply is read. */

import { INFERENCE_ENDPOINTS } from '../../../../src/rules/endpoints.ts';
import type { GroupStyle } from '../../../../src/schemas/index.ts';
import { ChatReader, chatBody } from './chat.ts';
import type { PlayDialect, PlayInput } from './conversation.ts';
import { GenerateReader, generateBody } from './generate.ts';
import { MessagesReader, messagesBody } from './messages.ts';
import type { ReplyReader } from './reply-reader.ts';
import { ResponsesReader, responsesBody } from './responses.ts';

interface DialectRow {
  readonly label: string;
  /** Decides, with the style of a key's group, whether the key takes the dialect. */
  readonly operation: 'responses.create' | 'messages.create' | 'chat.create' | 'generate.stream';
  readonly path: (model: string) => string;
  readonly body: (input: PlayInput) => object;
  readonly reader: () => ReplyReader;
  readonly efforts: readonly string[];
}

const OPENAI_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

export const PLAY_DIALECTS: Readonly<Record<PlayDialect, DialectRow>> = {
  responses: {
    label: 'Responses',
    operation: 'responses.create',
    path: () => '/v1/responses',
    body: responsesBody,
    reader: () => new ResponsesReader(),
    efforts: OPENAI_EFFORTS,
  },
  messages: {
    label: 'Messages',
    operation: 'messages.create',
    path: () => '/v1/messages',
    body: messagesBody,
    reader: () => new MessagesReader(),
    efforts: ['low', 'medium', 'high', 'max'],
  },
  chat: {
    label: 'Chat completions',
    operation: 'chat.create',
    path: () => '/v1/chat/completions',
    body: chatBody,
    reader: () => new ChatReader(),
    efforts: OPENAI_EFFORTS,
  },
  generate: {
    label: 'Generate content',
    operation: 'generate.stream',
    path: (model) => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
    body: generateBody,
    reader: () => new GenerateReader(),
    efforts: ['minimal', 'low', 'medium', 'high'],
  },
};

/** The dialects that keys of a style take, first the one that its providers speak. */
export function dialectsFor(style: Exclude<GroupStyle, 'video'>): readonly PlayDialect[] {
  const rank = { native: 0, prefer: 1, own: 2, convert: 2, refuse: 3 } as const;
  const cellOf = (dialect: PlayDialect) => INFERENCE_ENDPOINTS[PLAY_DIALECTS[dialect].operation].groups[style];
  return (Object.keys(PLAY_DIALECTS) as PlayDialect[])
    .filter((dialect) => cellOf(dialect).kind !== 'refuse')
    .toSorted((a, b) => rank[cellOf(a).kind] - rank[cellOf(b).kind]);
}

/** The data of complete server-sent events, and the rest that is not complete. */
export function takeEvents(buffer: string): { readonly events: readonly string[]; readonly rest: string } {
  const parts = buffer.split(/\r?\n\r?\n/);
  const rest = parts.pop() ?? '';
  const events = parts.map((part) =>
    part
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trimStart())
      .join('\n'),
  );
  return { events: events.filter((data) => data !== '' && data !== '[DONE]'), rest };
}
