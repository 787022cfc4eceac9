/**
 * A responses request that names a conversation, as one with its items.
 * Everything else of the body stays byte for byte. Pure: a thread can do it.
 */
import {
  elementsAt,
  failAt,
  type KeptTexts,
  measureMembers,
  openTexts,
  type Span,
  spliceAll,
  valueAt,
} from '../../core/index.ts';
import { movable, type ThreadJob } from '../../platform/threads/index.ts';
import { CONVERSATION_ID, REQUEST_JSON_LIMITS } from '../../rules/index.ts';
import { asJson } from '../request-scan.ts';

export type Item = Readonly<Record<string, unknown>>;

/** The items of a kept text: of a page, or of a row of an earlier version, which is one item. */
export function itemsOfText(text: string): readonly Item[] {
  const value = JSON.parse(text);
  return Array.isArray(value) ? value : [value];
}

const PREFIX = Buffer.from(CONVERSATION_ID.prefix);

/** Nearly every body names none, which costs one native search. */
export const mayNameConversation = (body: Buffer): boolean => body.includes(PREFIX);

export interface NamedConversation {
  readonly id: string;
  readonly conversation: Span;
  /** Undefined without input. */
  readonly input: Span | undefined;
  /** Of the input as a list; undefined when it is a text. */
  readonly elements: readonly Span[] | undefined;
}

/** With the value that says nothing. */
const EXCLUDED = [
  ['previous_response_id', undefined],
  ['background', false],
] as const;
const WATCHED: ReadonlySet<string> = new Set(['conversation', 'input', ...EXCLUDED.map(([name]) => name)]);
const OPEN_ARRAY = 0x5b;

/** Undefined when the request names no conversation of ours. */
export const namedConversationJob: ThreadJob<{ readonly bytes: Buffer }, NamedConversation | undefined> = {
  module: import.meta.url,
  name: 'namedConversationJob',
  run: ({ bytes }, steps) =>
    asJson(() => {
      const { members, values } = measureMembers(bytes, WATCHED, REQUEST_JSON_LIMITS);
      steps.take(values);
      const conversation = members.get('conversation');
      const named = valueAt(bytes, conversation);
      const id = typeof named === 'object' ? (named as { readonly id?: unknown } | null)?.id : named;
      if (!conversation || typeof id !== 'string' || !CONVERSATION_ID.pattern.test(id)) return undefined;
      for (const [name, none] of EXCLUDED) {
        const span = members.get(name);
        if (span && valueAt(bytes, span) !== none && valueAt(bytes, span) !== null)
          throw failAt('invalid_value', name, 'it cannot stand beside `conversation`; send one of them.');
      }
      const input = members.get('input');
      const elements = input && bytes[input.start] === OPEN_ARRAY ? elementsAt(bytes, input) : undefined;
      return { id, conversation, input, elements };
    }),
};

/** The items that the request adds, as JSON texts. */
export function addedItems(bytes: Buffer, { input, elements }: NamedConversation): string[] {
  const textAt = ({ start, end }: Span): string => bytes.toString('utf8', start, end);
  if (elements) return elements.map(textAt);
  return input ? [`{"type":"message","role":"user","content":${textAt(input)}}`] : [];
}

export const addedBytes = ({ input }: NamedConversation): number => (input ? input.end - input.start : 0);

interface PlacedItems {
  readonly bytes: Buffer;
  readonly named: NamedConversation;
  /** The items of the conversation so far. */
  readonly earlier: KeptTexts;
}

/** The request with the items of its conversation in front of its own. */
export const placeItemsJob: ThreadJob<PlacedItems, Uint8Array> = {
  module: import.meta.url,
  name: 'placeItemsJob',
  memoryOf: movable,
  run({ bytes, named, earlier }, steps) {
    const kept = openTexts(earlier).flatMap(itemsOfText);
    steps.take(kept.length);
    const { conversation, input } = named;
    const list = `[${[...kept.flatMap((item) => sendable(item) ?? []), ...addedItems(bytes, named)].join(',')}]`;
    // Without an input, the items become the first member.
    const start = bytes.indexOf('{') + 1;
    return spliceAll(bytes, [
      { span: conversation, bytes: Buffer.from('null') },
      input
        ? { span: input, bytes: Buffer.from(list) }
        : { span: { start, end: start }, bytes: Buffer.from(`"input":${list},`) },
    ]);
  },
};

/** Kinds of items that name what a provider stores, although they are complete without it. */
const WITHOUT_ID: ReadonlySet<unknown> = new Set(['message', 'function_call', 'custom_tool_call', undefined]);

/** Another account has no item of that id, and reasoning is of use only with its content. */
function sendable(whole: Item): string | undefined {
  const { id, ...item } = whole;
  if (item.type === 'reasoning' && typeof item.encrypted_content !== 'string') return undefined;
  return JSON.stringify(WITHOUT_ID.has(item.type) ? item : whole);
}
