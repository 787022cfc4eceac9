/** A conversation of the playground, in no dialect: turns, files, functions and settings. */

/** A picture, a PDF or a text, inline. */
export interface Attachment {
  readonly name: string;
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
  readonly bytes: number;
}

export interface FunctionTool {
  readonly name: string;
  readonly description?: string;
  /** A JSON schema. */
  readonly parameters?: object;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON as the model wrote it. */
  readonly arguments: string;
}

export type ReplyPart =
  | { readonly kind: 'thinking' | 'text'; readonly text: string }
  | { readonly kind: 'image'; readonly source: string }
  | { readonly kind: 'call'; readonly call: ToolCall };

export interface UserTurn {
  readonly role: 'user';
  readonly text: string;
  readonly files: readonly Attachment[];
}

export interface ResultsTurn {
  readonly role: 'results';
  readonly results: readonly { readonly call: ToolCall; readonly text: string }[];
}

export interface ReplyTurn {
  readonly role: 'reply';
  readonly dialect: PlayDialect;
  readonly parts: readonly ReplyPart[];
  /** As the dialect has it, with what only its provider can read: the same dialect gets it back. */
  readonly items: readonly object[];
  /** Why the model stopped, where it did not just end. */
  readonly stop?: string | undefined;
}

export type SentTurn = UserTurn | ResultsTurn;
export type Turn = SentTurn | ReplyTurn;

export type PlayDialect = 'responses' | 'messages' | 'chat' | 'generate';

export interface PlaySettings {
  readonly system: string;
  readonly tools: readonly FunctionTool[];
  /** Undefined leaves it to the provider. */
  readonly temperature?: number | undefined;
  readonly effort?: string | undefined;
  readonly maxTokens: number;
}

export interface PlayInput extends PlaySettings {
  readonly model: string;
  readonly turns: readonly Turn[];
}

export const callsIn = ({ parts }: Pick<ReplyTurn, 'parts'>): readonly ToolCall[] =>
  parts.flatMap((part) => (part.kind === 'call' ? [part.call] : []));

/** What was said, for a dialect that does not know the items. */
export const textIn = ({ parts }: Pick<ReplyTurn, 'parts'>): string =>
  parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('');

export const isPicture = ({ mediaType }: Attachment): boolean => mediaType.startsWith('image/');
export const isText = ({ mediaType }: Attachment): boolean => mediaType.startsWith('text/');
export const dataUrl = ({ mediaType, data }: Attachment): string => `data:${mediaType};base64,${data}`;

/** For a dialect that takes a text file only as text. */
export const fileText = ({ name, data }: Attachment): string =>
  `${name}\n\n${new TextDecoder().decode(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)))}`;

/** Arguments that a model wrote, as a value; damaged ones as none. */
export function argumentsOf(call: ToolCall): object {
  try {
    const value: unknown = JSON.parse(call.arguments || '{}');
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
