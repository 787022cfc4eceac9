/**
 * The visible text of a reply in each wire format: text, thoughts, refusals,
 * arguments; no pictures or hosted results. For estimates.
 */
import { type JsonObject, maybeList, maybeObject } from '../../dialects/index.ts';
import type { UpstreamDialect } from '../../rules/index.ts';

interface VisibleForm {
  readonly added: (event: JsonObject) => string;
  readonly whole: (reply: JsonObject) => string;
}

const listOf = (value: unknown): readonly JsonObject[] => maybeList(value).map(maybeObject);
const joined = (values: readonly unknown[]): string => values.filter((value) => typeof value === 'string').join('');
/** Arguments are text in some dialects and an object in others. None are no text. */
const argumentsIn = (value: unknown): string => {
  if (typeof value === 'string') return value === '{}' ? '' : value;
  const members = maybeObject(value);
  return Object.keys(members).length === 0 ? '' : JSON.stringify(members);
};

const textOfBlock = ({ text, thinking, input }: JsonObject): string => joined([text, thinking]) + argumentsIn(input);

function textOfMessage(message: JsonObject): string {
  const { content, reasoning_content, reasoning, refusal, tool_calls, function_call } = message;
  const calls = [...listOf(tool_calls), { function: function_call }].map((call: JsonObject) => {
    const { arguments: given } = maybeObject(call.function);
    return argumentsIn(given) + joined([maybeObject(call.custom).input]);
  });
  const parts = typeof content === 'string' ? content : listOf(content).map(textOfBlock).join('');
  return joined([reasoning_content ?? reasoning, parts, refusal, ...calls]);
}

const textOfItem = ({ content, summary, arguments: given, input, code }: JsonObject): string =>
  listOf(summary)
    .concat(listOf(content))
    .map(({ text, refusal }) => joined([text, refusal]))
    .join('') +
  argumentsIn(given) +
  joined([input, code]);

const textOfCandidates = ({ candidates }: JsonObject): string =>
  listOf(candidates)
    .flatMap(({ content }) => listOf(maybeObject(content).parts))
    .map(({ text, functionCall, executableCode }) =>
      joined([text, argumentsIn(maybeObject(functionCall).args), maybeObject(executableCode).code]),
    )
    .join('');

function textOfConverse({ text, reasoningContent, toolUse, citationsContent }: JsonObject): string {
  const { text: thought, reasoningText } = maybeObject(reasoningContent);
  const cited = listOf(maybeObject(citationsContent).content).map((part) => part.text);
  return joined([text, thought, maybeObject(reasoningText).text, ...cited]) + argumentsIn(maybeObject(toolUse).input);
}

const FORMS: Readonly<Record<UpstreamDialect, VisibleForm>> = {
  messages: {
    added({ type, delta, content_block: block, message }) {
      const { text, thinking, partial_json: json } = maybeObject(delta);
      if (type === 'content_block_delta') return joined([text, thinking, argumentsIn(json)]);
      const blocks = type === 'message_start' ? listOf(maybeObject(message).content) : [maybeObject(block)];
      return blocks.map(textOfBlock).join('');
    },
    whole: ({ content }) => listOf(content).map(textOfBlock).join(''),
  },
  chat: {
    added: ({ choices }) =>
      listOf(choices)
        .map(({ delta }) => textOfMessage(maybeObject(delta)))
        .join(''),
    whole: ({ choices }) =>
      listOf(choices)
        .map(({ message }) => textOfMessage(maybeObject(message)))
        .join(''),
  },
  responses: {
    added: ({ type, delta }) =>
      typeof delta === 'string' && String(type).endsWith('.delta')
        ? argumentsIn(delta)
        : textOfBlock(maybeObject(delta)),
    whole: ({ output, response, steps }) =>
      listOf(output ?? steps ?? maybeObject(response).output)
        .map(textOfItem)
        .join(''),
  },
  generate: { added: textOfCandidates, whole: textOfCandidates },
  converse: {
    added: ({ delta }) => textOfConverse(maybeObject(delta)),
    whole: ({ output }) =>
      listOf(maybeObject(maybeObject(output).message).content)
        .map(textOfConverse)
        .join(''),
  },
};

export function visibleIn(dialect: UpstreamDialect, events: readonly unknown[]): string {
  const { added } = FORMS[dialect];
  if (dialect === 'responses') return itemsText(events.map(maybeObject), added);
  return events.map((event) => added(maybeObject(event))).join('');
}

/** Events repeat parts and items when they are done, and a server may send those without all of their deltas. */
function itemsText(events: readonly JsonObject[], added: VisibleForm['added']): string {
  const items = new Map<unknown, { added: string; done: string; whole: string }>();
  for (const event of events) {
    const type = String(event.type);
    const output = listOf(maybeObject(event.response).output);
    const done = type === 'response.output_item.done' ? [maybeObject(event.item)] : output;
    for (const { key, item, ...own } of [
      ...done.map((item, n) => ({ key: item.id ?? event.output_index ?? n, item, added: '', done: '' })),
      { key: event.item_id ?? event.output_index, item: {}, added: added(event), done: partText(type, event) },
    ]) {
      const texts = items.get(key) ?? { added: '', done: '', whole: '' };
      const whole = longest([texts.whole, textOfItem(item)]);
      items.set(key, { added: texts.added + own.added, done: texts.done + own.done, whole });
    }
  }
  return [...items.values()].map(({ added, done, whole }) => longest([added, done, whole])).join('');
}

const partText = (type: string, { text, refusal, arguments: given, input }: JsonObject): string =>
  type.endsWith('.done') ? joined([text, refusal, argumentsIn(given), input]) : '';

const longest = (texts: readonly string[]): string =>
  texts.reduce((best, text) => (text.length > best.length ? text : best));

/** The visible text of a reply in one piece; that of a list of events in their order. */
export const wholeText = (dialect: UpstreamDialect, reply: unknown): string =>
  (Array.isArray(reply) ? reply : [reply]).map((part) => FORMS[dialect].whole(maybeObject(part))).join('');

const TEXTS = /"(?:text|thinking|content|reasoning_content|refusal|arguments)"\s*:\s*"((?:[^"\\]|\\.)*)/g;

export const cutText = (body: string): string =>
  [...body.matchAll(TEXTS)].map(([, escaped = '']) => unescaped(escaped)).join('');

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
