/**
 * Content of the history that an upstream cannot read and that has no form as text:
 * reasoning, which never becomes visible text, content of an unknown type that
 * another provider issued, and calls of hosted tools that say nothing.
 */
import type { Capabilities, Style, UpstreamDialect } from '../../rules/index.ts';
import type { HubItem, HubRequest } from '../hub/types.ts';
import { isReadable } from '../opaque/envelope.ts';
import { hostedText, lostMembers, ownForm, rawName } from './hosted.ts';

/** The account and model that read the history. */
interface Target {
  readonly account?: string;
  readonly capabilities: Pick<Capabilities, 'reasoningHistory'>;
}

export function unreadHistory({ items }: HubRequest, dialect: UpstreamDialect, target: Target) {
  const style = STYLE_OF[dialect];
  const isRead = (item: HubItem | undefined): boolean => isReasoning(item) && isLegible(item, dialect, target);
  // Of content other than thoughts, and members of hosted calls.
  const types = new Set<string>();
  let hasThoughts = false;
  for (const [n, item] of items.entries()) {
    if (item.kind === 'opaque' && item.issuer !== style) types.add(rawName(item.raw));
    if (item.kind === 'server_call' && !item.image && !(style && ownForm(item, style, target))) {
      if (hostedText(item) === '') types.add(rawName([item.raw].flat()[0]));
      else for (const name of lostMembers(item)) types.add(name);
    }
    // A cache of the gateway restores reasoning beside the text of it that a client returned.
    if (isThought(item) && !isRead(item) && !isRead(items[n - 1]) && !isRead(items[n + 1])) hasThoughts = true;
  }
  return { hasThoughts, types: [...types] };
}

/** A chat provider issues nothing that only it can read; nor does Converse, except for reasoning. */
const STYLE_OF: Readonly<Record<UpstreamDialect, Style | undefined>> = {
  messages: 'messages',
  responses: 'responses',
  generate: 'generate-content',
  chat: undefined,
  converse: undefined,
};

type Reasoning = Extract<HubItem, { kind: 'reasoning' }>;
const isReasoning = (item: HubItem | undefined): item is Reasoning => item?.kind === 'reasoning';

/** Signatures of calls and texts are reasoning items as well, but hold no thoughts. */
const isThought = (item: HubItem): item is Reasoning =>
  isReasoning(item) &&
  item.opaque?.kind !== 'thought' &&
  (item.opaque !== undefined || item.summary.some((text) => text !== ''));

function isLegible({ opaque }: Reasoning, dialect: UpstreamDialect, { account, capabilities }: Target): boolean {
  const issuer = dialect === 'converse' ? 'messages' : STYLE_OF[dialect];
  // Open models get the text, at some chat servers only with calls.
  if (opaque === undefined) return STYLE_OF[dialect] === undefined && capabilities.reasoningHistory !== 'none';
  return issuer !== undefined && isReadable(opaque, issuer, account);
}
