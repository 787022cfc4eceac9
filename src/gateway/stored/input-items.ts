/** Input items as responses list them: with type, id, status and content parts, however short the client wrote them. */

type Json = Readonly<Record<string, unknown>>;

/**
 * `responseId` and `index` give an item without an id one that stays the same,
 * so that a client can page through a list.
 */
export function fullInputItem(item: unknown, responseId: string, index: number): Json & { readonly id: string } {
  const given = (item ?? {}) as Json;
  const type = typeof given.type === 'string' ? given.type : 'message';
  const id =
    typeof given.id === 'string' ? given.id : `${ID_PREFIX.get(type) ?? 'item'}_${suffixOf(responseId)}_${index}`;
  const status = given.status ?? 'completed';
  if (type !== 'message') return { ...given, id, type, ...(WITH_STATUS.test(type) && { status }) };
  return { ...given, id, type, status, content: contentParts(given.content, given.role === 'assistant') };
}

/** The user's own messages among the items, as items of a response. */
export const userMessages = (items: readonly unknown[], responseId: string): Json[] =>
  items.filter((item) => (item as Json | null)?.role === 'user').map((item, n) => fullInputItem(item, responseId, n));

const ID_PREFIX: ReadonlyMap<string, string> = new Map([
  ['message', 'msg'],
  ['reasoning', 'rs'],
  ['function_call', 'fc'],
  ['function_call_output', 'fco'],
  ['custom_tool_call', 'ctc'],
  ['custom_tool_call_output', 'ctco'],
  ['compaction', 'cmp'],
]);
const WITH_STATUS = /^(?:function|custom_tool)_call(?:_output)?$/;

const suffixOf = (responseId: string): string => responseId.replace(/^resp_/, '');

function contentParts(content: unknown, isAssistant: boolean): unknown[] {
  const parts: unknown[] = Array.isArray(content)
    ? content
    : [{ type: isAssistant ? 'output_text' : 'input_text', text: content ?? '' }];
  return parts.map((part) => ({ ...DEFAULTS.get((part as Json | null)?.type), ...(part as Json | null) }));
}

/** Members that SDKs require in a part and that clients may omit. */
const DEFAULTS: ReadonlyMap<unknown, Json> = new Map<unknown, Json>([
  ['output_text', { annotations: [], logprobs: [] }],
  ['input_image', { detail: 'auto', file_id: null, image_url: null }],
]);
