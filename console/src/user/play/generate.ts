/** The generate-content dialect of the playground. */
import { capabilitiesOf } from '../../../../src/rules/model-families.ts';
import {
  type Attachment,
  argumentsOf,
  callsIn,
  type PlayInput,
  type ReplyTurn,
  type ToolCall,
  type Turn,
  textIn,
} from './conversation.ts';
import { isUnusual, ReplyReader, type StreamFault, streamError } from './reply-reader.ts';

/** The members that are read. */
interface Part {
  text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly functionCall?: { readonly id?: string; readonly name?: string; readonly args?: object };
  readonly inlineData?: { readonly mimeType?: string; readonly data?: string };
}

interface GenerateEvent {
  readonly error?: StreamFault;
  readonly promptFeedback?: { readonly blockReason?: string };
  readonly candidates?: readonly {
    readonly finishReason?: string;
    readonly content?: { readonly parts?: readonly Part[] };
  }[];
}

export function generateBody(input: PlayInput): object {
  const { system, turns, tools, temperature, maxTokens } = input;
  return {
    contents: turns.map(contentOf),
    ...(system !== '' && { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools.length > 0 && {
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, parameters }) => ({
            name,
            ...(description !== undefined && { description }),
            ...(parameters !== undefined && { parametersJsonSchema: parameters }),
          })),
        },
      ],
    }),
    generationConfig: {
      maxOutputTokens: maxTokens,
      ...(temperature !== undefined && { temperature }),
      ...thinkingOf(input),
    },
  };
}

const BUDGETS: Readonly<Record<string, number>> = { minimal: 512, low: 2_048, medium: 8_192, high: 16_384 };

function thinkingOf({ model, effort }: PlayInput): object {
  if (effort === undefined) return {};
  const isBudget = capabilitiesOf('generate-content', model).thinkingConfig === 'budget';
  const amount = isBudget ? { thinkingBudget: BUDGETS[effort] ?? 8_192 } : { thinkingLevel: effort.toUpperCase() };
  return { thinkingConfig: { ...amount, includeThoughts: true } };
}

function contentOf(turn: Turn): object {
  if (turn.role === 'user') return { role: 'user', parts: [...turn.files.map(filePart), { text: turn.text }] };
  if (turn.role === 'results')
    return {
      role: 'user',
      parts: turn.results.map(({ call, text }) => ({
        functionResponse: { ...idOf(call), name: call.name, response: resultOf(text) },
      })),
    };
  if (turn.dialect === 'generate') return { role: 'model', parts: turn.items };
  const parts = [
    ...(textIn(turn) === '' ? [] : [{ text: textIn(turn) }]),
    ...callsIn(turn).map((call) => ({ functionCall: { ...idOf(call), name: call.name, args: argumentsOf(call) } })),
  ];
  return { role: 'model', parts };
}

const filePart = ({ mediaType, data }: Attachment): object => ({ inlineData: { mimeType: mediaType, data } });

/** Calls of models that give none get one here, which must not be sent. */
const OWN_ID = 'playground-';
const idOf = ({ id }: ToolCall): object => (id.startsWith(OWN_ID) ? {} : { id });

/** The dialect takes an object. */
function resultOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // A text.
  }
  return { result: text };
}

/** The type is text of the provider; an SVG image is markup. */
const DRAWN: readonly string[] = ['image/png', 'image/jpeg', 'image/webp'];

export class GenerateReader extends ReplyReader {
  readonly #parts: Part[] = [];

  constructor() {
    super('generate');
  }

  add({ error, promptFeedback, candidates = [] }: GenerateEvent): void {
    if (error) throw streamError(error);
    const { finishReason, content } = candidates[0] ?? {};
    const reason = promptFeedback?.blockReason ?? finishReason;
    if (isUnusual(reason, ['STOP'])) this.stop = reason;
    for (const part of content?.parts ?? []) this.#read(part);
  }

  #read(part: Part): void {
    if (part.functionCall) {
      const { id, name = '', args = {} } = part.functionCall;
      this.open({ id: id ?? `${OWN_ID}${this.#parts.length}`, name, arguments: JSON.stringify(args) });
    } else if (DRAWN.includes(part.inlineData?.mimeType ?? '')) {
      this.draw(`data:${part.inlineData?.mimeType};base64,${part.inlineData?.data}`);
    } else {
      this.write(part.thought ? 'thinking' : 'text', part.text);
    }
    if (part.thought) return;
    const last = this.#parts.at(-1);
    const isPlain = Object.keys(part).every((name) => name === 'text');
    if (isPlain && last && Object.keys(last).every((name) => name === 'text'))
      last.text = `${last.text ?? ''}${part.text ?? ''}`;
    else if (!isPlain || part.text) this.#parts.push({ ...part });
  }

  protected items(): ReplyTurn['items'] {
    return this.#parts.map((part) => ({ ...part }));
  }
}
