/** The messages dialect of the playground. */
import { capabilitiesOf } from '../../../../src/rules/model-families.ts';
import {
  type Attachment,
  argumentsOf,
  callsIn,
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
interface Block {
  type?: string;
  id?: string;
  name?: string;
  text?: string;
  thinking?: string;
  signature?: string;
  input?: object;
}

interface Delta {
  readonly type?: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly partial_json?: string;
  readonly stop_reason?: string | null;
}

interface MessagesEvent {
  readonly type?: string;
  readonly index?: number;
  readonly content_block?: Block;
  readonly delta?: Delta;
  readonly error?: StreamFault;
}

export function messagesBody(input: PlayInput): object {
  const { model, system, turns, tools, temperature, maxTokens } = input;
  return {
    model,
    max_tokens: maxTokens,
    ...(system !== '' && { system }),
    messages: turns.map(messageOf),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        ...(description !== undefined && { description }),
        input_schema: parameters ?? { type: 'object' },
      })),
    }),
    ...(temperature !== undefined && { temperature }),
    ...thinkingOf(input),
    stream: true,
  };
}

/** Tokens that a model may think with, of those that it may write. */
const BUDGETS: Readonly<Record<string, number>> = { low: 2_048, medium: 8_192, high: 16_384, max: 32_000 };

const MIN_BUDGET = 1_024;

/** Models before 4.6 think with a budget, which must be smaller than the output limit. */
function thinkingOf({ model, effort, maxTokens }: PlayInput): object {
  if (effort === undefined) return {};
  const { thinking, display } = capabilitiesOf('messages', model);
  if (thinking === 'manual') {
    const budget = Math.max(MIN_BUDGET, Math.min(BUDGETS[effort] ?? 8_192, maxTokens - 1));
    return { thinking: { type: 'enabled', budget_tokens: budget } };
  }
  return {
    thinking: { type: 'adaptive', ...(display && { display: 'summarized' }) },
    output_config: { effort },
  };
}

function messageOf(turn: Turn): object {
  if (turn.role === 'user')
    return {
      role: 'user',
      content: turn.files.length === 0 ? turn.text : [...turn.files.map(filePart), { type: 'text', text: turn.text }],
    };
  if (turn.role === 'results')
    return {
      role: 'user',
      content: turn.results.map(({ call, text }) => ({ type: 'tool_result', tool_use_id: call.id, content: text })),
    };
  if (turn.dialect === 'messages') return { role: 'assistant', content: turn.items };
  return {
    role: 'assistant',
    content: [
      ...(textIn(turn) === '' ? [] : [{ type: 'text', text: textIn(turn) }]),
      ...callsIn(turn).map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: argumentsOf(call) })),
    ],
  };
}

function filePart(file: Attachment): object {
  const source = { type: 'base64', media_type: file.mediaType, data: file.data };
  if (isPicture(file)) return { type: 'image', source };
  if (isText(file)) return { type: 'text', text: fileText(file) };
  return { type: 'document', source, title: file.name };
}

export class MessagesReader extends ReplyReader {
  readonly #calls = new Map<number, OpenCall>();
  readonly #blocks = new Map<number, Block>();

  constructor() {
    super('messages');
  }

  add({ type, index = 0, content_block: block = {}, delta = {}, error }: MessagesEvent): void {
    switch (type) {
      case 'content_block_start':
        return this.#start(index, block);
      case 'content_block_delta':
        return this.#extend(index, delta);
      case 'message_delta':
        if (isUnusual(delta.stop_reason, ['end_turn', 'tool_use', 'stop_sequence'])) this.stop = delta.stop_reason;
        return;
      case 'error':
        throw streamError(error);
    }
  }

  #start(index: number, block: Block): void {
    this.#blocks.set(index, { ...block });
    if (block.type === 'text') this.write('text', block.text);
    if (block.type === 'thinking') this.write('thinking', block.thinking);
    if (block.type === 'tool_use')
      this.#calls.set(index, this.open({ id: block.id ?? '', name: block.name ?? '', arguments: '' }));
  }

  #extend(index: number, delta: Delta): void {
    const block = this.#blocks.get(index) ?? {};
    if (delta.type === 'text_delta') {
      block.text = `${block.text ?? ''}${delta.text ?? ''}`;
      this.write('text', delta.text);
    } else if (delta.type === 'thinking_delta') {
      block.thinking = `${block.thinking ?? ''}${delta.thinking ?? ''}`;
      this.write('thinking', delta.thinking);
    } else if (delta.type === 'signature_delta') {
      block.signature = `${block.signature ?? ''}${delta.signature ?? ''}`;
    } else if (delta.type === 'input_json_delta') {
      const call = this.#calls.get(index);
      call?.set({ arguments: call.get().arguments + (delta.partial_json ?? '') });
    }
  }

  protected items(): ReplyTurn['items'] {
    return [...this.#blocks]
      .map(([index, block]) => {
        const call = this.#calls.get(index)?.get();
        return call ? { ...block, input: argumentsOf(call) } : { ...block };
      })
      .filter((block) => block.type !== 'text' || block.text !== '');
  }
}
