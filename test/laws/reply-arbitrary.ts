/** Arbitrary model replies in no dialect: thoughts, texts, calls, stop reason and usage. */
import fc from 'fast-check';

export type Block =
  | { readonly kind: 'thought'; readonly texts: readonly string[]; readonly value: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly args: string };

export interface ModelReply {
  readonly blocks: readonly Block[];
  /** With calls, `end` means a stop for tool use. */
  readonly stop: 'end' | 'length';
  readonly usage: Usage;
  /** Lengths of the stream deltas, used in rotation. */
  readonly cuts: readonly number[];
}

export interface Usage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

const tokens = fc.nat(50_000);
const usages: fc.Arbitrary<Usage> = fc
  .record({ fresh: tokens, cacheRead: tokens, cacheWrite: tokens, visible: tokens, reasoning: tokens })
  .map(({ fresh, cacheRead, cacheWrite, visible, reasoning }) => ({
    input: fresh + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    output: visible + reasoning,
    reasoning,
  }));

/** Texts that look like SSE, JSON or envelopes, and characters of several code units. */
const TRICKY_TEXTS = [
  ...['data: x', '[DONE]', 'event: error', '\n', ' ', '"}', '\\', '{"input":"', 'gw1.', '<system>', '\u2028', '\0'],
  ...['😀', '👩‍👩‍👧', 'é', 'e\u0301', 'שלום', '日本', 'tail ', 'a', 'The', 'ok.', '__proto__', 'null'],
];
const piece = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...TRICKY_TEXTS) }, fc.string({ maxLength: 6 }));
export const texts: fc.Arbitrary<string> = fc
  .array(piece, { minLength: 1, maxLength: 4 })
  .map((texts) => texts.join(''))
  .filter((text) => /\S/.test(text));

/** No backslashes in member names: after one, V8's JSON.parse misreads short escaped names at the same position. */
const memberNames = fc.string({ maxLength: 6 }).map((name) => name.replaceAll('\\', '/'));
export const callArguments: fc.Arbitrary<string> = fc
  .dictionary(memberNames, fc.oneof(texts, fc.integer(), fc.boolean(), fc.array(texts, { maxLength: 2 })), {
    maxKeys: 3,
  })
  .map((value) => JSON.stringify(value));

export const TOOL_NAMES = ['find', 'read_file', 'web_search'] as const;

const thoughtBlock = fc.record({
  kind: fc.constant('thought' as const),
  texts: fc.array(texts, { maxLength: 2 }),
  value: fc.base64String({ minLength: 8, maxLength: 24 }),
});
const textBlock = fc.record({ kind: fc.constant('text' as const), text: texts });
const callBlock = fc.record({
  kind: fc.constant('call' as const),
  id: fc.constant(''),
  name: fc.constantFrom(...TOOL_NAMES),
  args: callArguments,
});

export const modelReplies: fc.Arbitrary<ModelReply> = fc
  .record({
    blocks: fc.array(fc.oneof(thoughtBlock, textBlock, textBlock, callBlock, callBlock), { maxLength: 6 }),
    stop: fc.constantFrom('end', 'end', 'end', 'length' as const),
    usage: usages,
    cuts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
  })
  .map((reply) => ({ ...reply, stop: reply.stop as ModelReply['stop'], blocks: normalizeBlocks(reply.blocks) }))
  .map((reply) => (endsWithoutArguments(reply) ? { ...reply, stop: 'end' } : reply));

/** In a unary reply of the messages dialect, such a call looks the same as one that was cut before its arguments. */
const endsWithoutArguments = ({ blocks }: ModelReply): boolean => {
  const last = blocks.at(-1);
  return last?.kind === 'call' && /^\s*\{\s*\}\s*$/.test(last.args);
};

/** Gives calls and thoughts unique ids and values, and removes thoughts that no output follows. */
function normalizeBlocks(blocks: readonly Block[]): Block[] {
  const kept = blocks.filter(
    (block, n) => block.kind !== 'thought' || (blocks[n + 1]?.kind ?? 'thought') !== 'thought',
  );
  return kept.map((block, n) => {
    if (block.kind === 'call') return { ...block, id: `call_${n}x` };
    return block.kind === 'thought' ? { ...block, value: `${block.value}${n}` } : block;
  });
}

/** Cuts a text into stream deltas, never inside a surrogate pair. */
export function cutText(text: string, cuts: readonly number[]): string[] {
  const points = Array.from(text);
  const result: string[] = [];
  for (let at = 0, n = 0; at < points.length; n += 1) {
    const length = cuts[n % cuts.length] ?? 1;
    result.push(points.slice(at, at + length).join(''));
    at += length;
  }
  return result;
}
