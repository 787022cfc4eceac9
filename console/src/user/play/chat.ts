/** The chat-completions dialect of the playground. */
import {
  type Attachment,
  callsIn,
  dataUrl,
  fileText,
  isPicture,
  isText,
  type PlayInput,
  type ReplyTurn,
  type Turn,
  textIn,
} from './conversation.ts';
import { isUnusual, type OpenCall, ReplyReader, type StreamFault, streamError } from './reply-reader.ts';

/** The members that are read. */
interface ChatEvent {
  readonly error?: StreamFault;
  readonly choices?: readonly {
    readonly finish_reason?: string | null;
    readonly delta?: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly reasoning_content?: string | null;
      readonly reasoning?: string | null;
      readonly tool_calls?: readonly {
        readonly index?: number;
        readonly id?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
  }[];
}

export function chatBody({ model, system, turns, tools, temperature, effort, maxTokens }: PlayInput): object {
  return {
    model,
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...turns.flatMap(messagesOf)],
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    max_completion_tokens: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
  };
}

function messagesOf(turn: Turn): object[] {
  if (turn.role === 'user')
    return [
      {
        role: 'user',
        content: turn.files.length === 0 ? turn.text : [...turn.files.map(filePart), { type: 'text', text: turn.text }],
      },
    ];
  if (turn.role === 'results')
    return turn.results.map(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text }));
  return turn.dialect === 'chat' ? [...turn.items] : [assistantMessage(turn)];
}

function assistantMessage(turn: Pick<ReplyTurn, 'parts'>): object {
  const calls = callsIn(turn).map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  }));
  return { role: 'assistant', content: textIn(turn) || null, ...(calls.length > 0 && { tool_calls: calls }) };
}

function filePart(file: Attachment): object {
  if (isPicture(file)) return { type: 'image_url', image_url: { url: dataUrl(file) } };
  if (isText(file)) return { type: 'text', text: fileText(file) };
  return { type: 'file', file: { filename: file.name, file_data: dataUrl(file) } };
}

export class ChatReader extends ReplyReader {
  readonly #calls = new Map<number, OpenCall>();

  constructor() {
    super('chat');
  }

  add({ error, choices = [] }: ChatEvent): void {
    if (error) throw streamError(error);
    const { delta = {}, finish_reason: stop } = choices[0] ?? {};
    if (isUnusual(stop, ['stop', 'tool_calls'])) this.stop = stop;
    this.write('thinking', delta.reasoning_content ?? delta.reasoning);
    this.write('text', delta.content ?? delta.refusal);
    for (const { index = 0, id = '', function: called = {} } of delta.tool_calls ?? []) {
      const call = this.#calls.get(index);
      if (call) call.set({ arguments: call.get().arguments + (called.arguments ?? '') });
      else this.#calls.set(index, this.open({ id, name: called.name ?? '', arguments: called.arguments ?? '' }));
    }
  }

  protected items(): ReplyTurn['items'] {
    return [];
  }

  override turn(): ReplyTurn {
    const turn = super.turn();
    return { ...turn, items: [assistantMessage(turn)] };
  }
}
