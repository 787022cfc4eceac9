/** The responses dialect of the playground. */
import {
  type Attachment,
  argumentsOf,
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
import { type OpenCall, ReplyReader, type StreamFault, streamError } from './reply-reader.ts';

/** The members that are read. */
interface ResponsesItem {
  readonly type?: string;
  readonly id?: string;
  readonly status?: string;
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly encrypted_content?: string | null;
}

interface ResponsesEvent extends StreamFault {
  readonly type?: string;
  readonly delta?: string;
  readonly summary_index?: number;
  readonly output_index?: number;
  readonly item?: ResponsesItem;
  readonly response?: {
    readonly incomplete_details?: { readonly reason?: string } | null;
    readonly error?: StreamFault | null;
  };
  readonly error?: StreamFault;
}

export function responsesBody({ model, system, turns, tools, temperature, effort, maxTokens }: PlayInput): object {
  const [first] = turns;
  const isPlain = turns.length === 1 && first?.role === 'user' && first.files.length === 0;
  return {
    model,
    ...(system !== '' && { instructions: system }),
    input: isPlain ? first.text : turns.flatMap(itemsOf),
    ...(tools.length > 0 && { tools: tools.map((tool) => ({ type: 'function', ...tool, strict: false })) }),
    ...(temperature !== undefined && { temperature }),
    // Thoughts come back encrypted, and are sent again with the next turn; nothing is stored at the provider.
    ...(effort !== undefined && {
      reasoning: { effort, summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
    }),
    max_output_tokens: maxTokens,
    stream: true,
  };
}

function itemsOf(turn: Turn): object[] {
  if (turn.role === 'user') return [{ role: 'user', content: contentOf(turn) }];
  if (turn.role === 'results')
    return turn.results.map(({ call, text }) => ({ type: 'function_call_output', call_id: call.id, output: text }));
  if (turn.dialect === 'responses') return turn.items.flatMap((item) => sentItem(item));
  return [
    ...(textIn(turn) === '' ? [] : [{ role: 'assistant', content: textIn(turn) }]),
    ...callsIn(turn).map((call) => ({
      type: 'function_call',
      call_id: call.id,
      name: call.name,
      arguments: JSON.stringify(argumentsOf(call)),
    })),
  ];
}

/** Ids name what the provider stores; thoughts that are not encrypted can only be named by them. */
function sentItem(item: ResponsesItem): object[] {
  if (item.type === 'reasoning') return item.encrypted_content ? [item] : [];
  const { id: _id, status: _status, ...rest } = item;
  return [rest];
}

const contentOf = ({ text, files }: { readonly text: string; readonly files: readonly Attachment[] }) =>
  files.length === 0 ? text : [...files.map(filePart), { type: 'input_text', text }];

function filePart(file: Attachment): object {
  if (isPicture(file)) return { type: 'input_image', image_url: dataUrl(file) };
  if (isText(file)) return { type: 'input_text', text: fileText(file) };
  return { type: 'input_file', filename: file.name, file_data: dataUrl(file) };
}

export class ResponsesReader extends ReplyReader {
  readonly #calls = new Map<number, OpenCall>();
  readonly #items: ResponsesItem[] = [];

  constructor() {
    super('responses');
  }

  add(event: ResponsesEvent): void {
    const { item, output_index: index = 0 } = event;
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.write('text', event.delta);
      case 'response.reasoning_summary_part.added':
        return this.write('thinking', event.summary_index ? '\n\n' : '');
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.write('thinking', event.delta);
      case 'response.output_item.added':
        if (item?.type === 'function_call')
          this.#calls.set(index, this.open({ id: item.call_id ?? '', name: item.name ?? '', arguments: '' }));
        return;
      case 'response.function_call_arguments.delta': {
        const call = this.#calls.get(index);
        return call?.set({ arguments: call.get().arguments + (event.delta ?? '') });
      }
      case 'response.output_item.done':
        if (item) this.#items.push(item);
        return this.#calls.get(index)?.set({ arguments: item?.arguments ?? '' });
      case 'response.incomplete':
        this.stop = event.response?.incomplete_details?.reason ?? 'incomplete';
        return;
      case 'response.failed':
        throw streamError(event.response?.error);
      case 'error':
        throw streamError(event.error ?? event);
    }
  }

  protected items(): ReplyTurn['items'] {
    return [...this.#items];
  }
}
