/** Blocks of the Messages API as those of Converse, and their cache breakpoints as blocks of their own. */
import type { Block } from '../../claude/encode-content.ts';
import { compact } from '../../wire/read.ts';

/** Blocks after which the API takes no cache point. */
const isUncached = (block: Block): boolean => 'document' in block || 'video' in block;
/** The API demands a text beside a document, and a cache point behind one needs another block before it. */
const FILLER: Block = { text: '.' };

export function encodeBlocks(blocks: readonly Block[]): Block[] {
  const encoded: Block[] = [];
  let pending: Block | undefined;
  for (const given of blocks) {
    const block = encodeBlock(given);
    encoded.push(block);
    pending = pointAfter(given) ?? pending;
    if (!pending || isUncached(block)) continue;
    encoded.push(pending);
    pending = undefined;
  }
  const needsText = encoded.some((block) => 'document' in block) && !encoded.some((block) => 'text' in block);
  if (pending || needsText) encoded.push(FILLER);
  if (pending) encoded.push(pending);
  return encoded;
}

/** The breakpoint of a block. One inside a tool result goes behind the result. */
function pointAfter({ cache_control: own, content }: Block): Block | undefined {
  const inner = Array.isArray(content) ? (content as Block[]).findLast((block) => block.cache_control) : undefined;
  const control = (own ?? inner?.cache_control) as { readonly ttl?: string } | undefined;
  return control && { cachePoint: compact({ type: 'default', ttl: control.ttl }) };
}

function encodeBlock(block: Block): Block {
  const { cache_control: _, ...rest } = block;
  const encode = typeof block.type === 'string' ? BLOCKS[block.type] : undefined;
  return encode ? encode(rest) : rest;
}

const BLOCKS: Readonly<Record<string, (block: Block) => Block>> = {
  text: ({ text }) => ({ text }),
  thinking: ({ thinking, signature }) => ({
    reasoningContent: { reasoningText: compact({ text: thinking, signature }) },
  }),
  redacted_thinking: ({ data }) => ({ reasoningContent: { redactedContent: data } }),
  tool_use: ({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } }),
  tool_result: ({ tool_use_id, content, is_error }) => ({
    toolResult: compact({
      toolUseId: tool_use_id,
      content: Array.isArray(content) ? content.map(encodeBlock) : [{ text: '(no output)' }],
      status: is_error ? 'error' : undefined,
    }),
  }),
};
