/** The four text dialects of the playground: how a prompt is sent, and where the text of a stream event is. */

import { INFERENCE_ENDPOINTS } from '../../../src/rules/endpoints.ts';
import type { GroupStyle } from '../../../src/schemas/index.ts';

export type PlayDialect = 'responses' | 'messages' | 'chat' | 'generate';

export interface PlayInput {
  readonly model: string;
  readonly prompt: string;
  readonly system: string;
  readonly maxTokens: number;
}

interface DialectRow {
  readonly label: string;
  /** Decides, with the style of a key's group, whether the key takes the dialect. */
  readonly operation: 'responses.create' | 'messages.create' | 'chat.create' | 'generate.stream';
  readonly path: (model: string) => string;
  readonly body: (input: PlayInput) => object;
  /** The text that an event adds. */
  readonly textOf: (event: StreamEvent) => string | undefined;
}

/** The members of stream events that hold text, over all dialects. */
export interface StreamEvent {
  readonly type?: string;
  readonly delta?: string | { readonly type?: string; readonly text?: string };
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly { readonly text?: string; readonly thought?: boolean }[] };
  }[];
}

const turn = (prompt: string) => [{ role: 'user', content: prompt }];

export const PLAY_DIALECTS: Readonly<Record<PlayDialect, DialectRow>> = {
  responses: {
    label: 'Responses',
    operation: 'responses.create',
    path: () => '/v1/responses',
    body: ({ model, prompt, system, maxTokens }) => ({
      model,
      input: prompt,
      ...(system !== '' && { instructions: system }),
      max_output_tokens: maxTokens,
      stream: true,
    }),
    textOf: ({ type, delta }) =>
      type === 'response.output_text.delta' && typeof delta === 'string' ? delta : undefined,
  },
  messages: {
    label: 'Messages',
    operation: 'messages.create',
    path: () => '/v1/messages',
    body: ({ model, prompt, system, maxTokens }) => ({
      model,
      max_tokens: maxTokens,
      ...(system !== '' && { system }),
      messages: turn(prompt),
      stream: true,
    }),
    textOf: ({ type, delta }) =>
      type === 'content_block_delta' && typeof delta === 'object' && delta.type === 'text_delta'
        ? delta.text
        : undefined,
  },
  chat: {
    label: 'Chat completions',
    operation: 'chat.create',
    path: () => '/v1/chat/completions',
    body: ({ model, prompt, system, maxTokens }) => ({
      model,
      max_completion_tokens: maxTokens,
      messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...turn(prompt)],
      stream: true,
      stream_options: { include_usage: true },
    }),
    textOf: ({ choices }) => choices?.[0]?.delta?.content ?? undefined,
  },
  generate: {
    label: 'Generate content',
    operation: 'generate.stream',
    path: (model) => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
    body: ({ prompt, system, maxTokens }) => ({
      contents: [{ role: 'user', parts: [{ text: prompt }] }],
      ...(system !== '' && { systemInstruction: { parts: [{ text: system }] } }),
      generationConfig: { maxOutputTokens: maxTokens },
    }),
    textOf: ({ candidates }) =>
      candidates?.[0]?.content?.parts
        ?.filter(({ thought }) => thought !== true)
        .map(({ text = '' }) => text)
        .join(''),
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
