/**
 * Stored responses as their readers get them: the object, its events, or a page of its input.
 * Large ones are read in a thread.
 */
import { failAt, type KeptTexts, openTexts, workOf } from '../../core/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { type Call, SMALL_BODY_BYTES } from '../../platform/web/index.ts';
import { SEALED_COPIES } from '../../rules/index.ts';
import type { Caller } from '../caller.ts';
import { type GatewayServices, jobOwner } from '../services.ts';
import { eventsAfter } from '../stored/events.ts';
import { fullInputItem } from '../stored/input-items.ts';
import { itemsOfTurn } from '../stored/references.ts';
import { responseNotFound } from '../stored/store.ts';
import { contentOfText, isRunning } from '../stored/turn-text.ts';

export type StoredForm =
  | { readonly kind: 'object' }
  | { readonly kind: 'events'; readonly after: number }
  | { readonly kind: 'input'; readonly isAscending: boolean; readonly after: string | null; readonly limit: number };

interface ReadingInput {
  readonly id: string;
  /** The last one is that of the response. */
  readonly texts: KeptTexts;
  readonly form: StoredForm;
}

export interface StoredReading {
  readonly text: string;
  readonly isRunning: boolean;
}

export const readingJob: ThreadJob<ReadingInput, StoredReading> = {
  module: import.meta.url,
  name: 'readingJob',
  run({ id, texts, form }) {
    const turns = openTexts(texts).map(contentOfText);
    const last = turns.pop() ?? { input: [], response: {} };
    const text = {
      object: () => JSON.stringify(last.response),
      events: () => eventsAfter(last, form.kind === 'events' ? form.after : -1),
      input: () => JSON.stringify(pageOf([...turns.flatMap(itemsOfTurn), ...last.input], id, form)),
    }[form.kind]();
    return { text, isRunning: isRunning(last) };
  },
};

/** Items are numbered from the first one of the conversation, so that a client can page through a list. */
function pageOf(input: readonly unknown[], responseId: string, form: StoredForm) {
  if (form.kind !== 'input') return {};
  const items = input.map((item, n) => fullInputItem(item, responseId, n));
  const ordered = form.isAscending ? items : items.reverse();
  const start = ordered.findIndex((item) => item.id === form.after) + 1;
  if (form.after !== null && start === 0) throw failAt('invalid_value', 'after', 'the response has no such item.');
  const data = ordered.slice(start, start + form.limit);
  const has_more = start + data.length < ordered.length;
  return { object: 'list', data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more };
}

export async function readStored(
  { store, threads }: Pick<GatewayServices, 'store' | 'threads'>,
  call: Call,
  caller: Caller,
  form: StoredForm,
): Promise<StoredReading> {
  const { key } = caller;
  const id = call.params.response_id ?? '';
  const head = await store.find(id, key.userId);
  if (!head?.isHere) throw responseNotFound(id);
  if (head.bytes > SMALL_BODY_BYTES) call.reserveMemory().add(head.bytes * SEALED_COPIES);
  const texts =
    form.kind === 'input' ? await store.conversation(head, key.userId) : await store.texts([id], key.userId);
  if (!texts?.texts.length) throw responseNotFound(id);
  return threads.run(readingJob, { id, texts, form }, jobOwner(call, caller, workOf(texts)));
}
