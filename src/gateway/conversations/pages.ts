/**
 * Pages of a conversation: the items that a turn adds, sealed together, so that few texts are opened to continue it.
 * Pure: a thread can seal and open them.
 */
import { randomBytes } from 'node:crypto';
import {
  failAt,
  type KeptTexts,
  measureMembers,
  openTexts,
  type SealKeys,
  sealerOf,
  valueAt,
  valueOfJson,
} from '../../core/index.ts';
import type { ThreadJob } from '../../platform/threads/index.ts';
import { CONVERSATIONS, REQUEST_JSON_LIMITS } from '../../rules/index.ts';
import { type Metadata, readMetadata } from '../own-members.ts';
import { asJson } from '../request-scan.ts';
import { fullInputItem } from '../stored/input-items.ts';
import { addedItems, type Item, itemsOfText, type NamedConversation } from './place-items.ts';

/** What the id of an item is made of. */
export interface ItemName {
  readonly id: string | undefined;
  readonly type: string | undefined;
}

/** A page that is not stored yet. Its name stands in the place where it is sealed. */
export interface NewPage {
  readonly id: string;
  readonly names: readonly ItemName[];
  readonly bytes: number;
  readonly sealed: string;
}

export const pageLocation = (conversationId: string, pageId: string) =>
  `conversation_pages.sealed:${conversationId}/${pageId}` as const;

/** The list of two pages, or of one without an item, as JSON. */
export const joinedList = (earlier: string, later: string): string => `${earlier.slice(0, -1)},${later.slice(1)}`;

interface Sealing {
  readonly conversationId: string;
  readonly keys: SealKeys;
}

/** Of at most `CONVERSATIONS.pageBytes`, or of one item. */
function sealPages(items: readonly Item[], { conversationId, keys }: Sealing): NewPage[] {
  const sealer = sealerOf(keys);
  const pages: NewPage[] = [];
  let texts: string[] = [];
  let names: ItemName[] = [];
  let bytes = 0;
  const endPage = (): void => {
    if (texts.length === 0) return;
    const id = randomBytes(8).toString('hex');
    pages.push({ id, names, bytes, sealed: sealer.seal(`[${texts.join(',')}]`, pageLocation(conversationId, id)) });
    texts = [];
    names = [];
    bytes = 0;
  };
  for (const item of items) {
    const text = JSON.stringify(item);
    const size = Buffer.byteLength(text);
    if (bytes + size > CONVERSATIONS.pageBytes || texts.length === CONVERSATIONS.pageItems) endPage();
    texts.push(text);
    names.push({ id: textOf(item.id), type: textOf(item.type) });
    bytes += size;
  }
  endPage();
  return pages;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

interface GivenBody extends Sealing {
  readonly bytes: Buffer;
}

/** What a client creates a conversation with, or adds to one. */
export interface Given {
  readonly metadata: Metadata;
  readonly pages: readonly NewPage[];
}

export const givenJob: ThreadJob<GivenBody, Given> = {
  module: import.meta.url,
  name: 'givenJob',
  run({ bytes, ...sealing }, steps) {
    const { members, values } = asJson(() => measureMembers(bytes, GIVEN, REQUEST_JSON_LIMITS));
    steps.take(values);
    const metadata = readMetadata(bytes, members.get('metadata'));
    const items = valueAt(bytes, members.get('items')) ?? [];
    if (Array.isArray(items) && items.length <= CONVERSATIONS.added && items.every(isItem))
      return { metadata, pages: sealPages(items, sealing) };
    throw failAt('invalid_value', 'items', `expected a list of at most ${CONVERSATIONS.added} objects.`);
  },
};

const GIVEN: ReadonlySet<string> = new Set(['metadata', 'items']);

const isItem = (item: unknown): item is Item => typeof item === 'object' && item !== null && !Array.isArray(item);

interface Turn extends Sealing {
  /** The body of the request. */
  readonly bytes: Buffer;
  readonly named: NamedConversation;
  /** The response, or the event that ends it, as JSON. */
  readonly reply: string;
}

/** What a turn adds: its input and its output. None where the turn has failed. */
export const turnPagesJob: ThreadJob<Turn, readonly NewPage[]> = {
  module: import.meta.url,
  name: 'turnPagesJob',
  run({ bytes, named, reply, ...sealing }) {
    const value = valueOfJson(reply) as Item | undefined;
    const response = (value?.response ?? value) as Item | undefined;
    if (!Array.isArray(response?.output) || !USABLE.has(response.status)) return [];
    return sealPages([...addedItems(bytes, named).map((text) => JSON.parse(text)), ...response.output], sealing);
  },
};

const USABLE: ReadonlySet<unknown> = new Set(['completed', 'incomplete']);

export interface ItemsToView {
  /** Pages, and items of earlier versions. */
  readonly texts: KeptTexts;
  readonly wanted: readonly { readonly text: number; readonly at: number; readonly id: string }[];
}

/** Items as lists show them, as JSON texts. */
export const viewItemsJob: ThreadJob<ItemsToView, readonly string[]> = {
  module: import.meta.url,
  name: 'viewItemsJob',
  run({ texts, wanted }) {
    const lists = openTexts(texts).map(itemsOfText);
    return wanted.map(({ text, at, id }) => JSON.stringify(fullInputItem({ ...lists[text]?.[at], id }, '', 0)));
  },
};
