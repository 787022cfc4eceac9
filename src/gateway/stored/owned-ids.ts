/**
 * Ids in a response that later requests of its user may name:
 * of its items, and of containers and files that the provider made for it.
 */

/** More items than a response has. */
const MAX_IDS = 1_000;

export function ownedIds(output: unknown): string[] {
  if (!Array.isArray(output)) return [];
  const ids = new Set<string>();
  for (const item of output.slice(0, MAX_IDS)) {
    const { id, container_id: container } = (item ?? {}) as { id?: unknown; container_id?: unknown };
    if (typeof id === 'string') ids.add(id);
    if (typeof container === 'string') ids.add(container);
  }
  return [...ids];
}

type Reply = { readonly [Name in 'container' | 'delta' | 'content' | 'content_block']?: unknown };

/**
 * The container of a messages reply, in one piece or in the last delta of a stream,
 * and the files that code in it has made.
 */
export function madeFor({ container, delta, content, content_block: block }: Reply): string[] {
  const { id } = membersOf(container ?? membersOf(delta).container);
  return [...(typeof id === 'string' ? [id] : []), ...madeFiles(Array.isArray(content) ? content : [block])];
}

/** In a block with such files, and in few others. */
export const FILE_MARK = Buffer.from('xecution_output"');
/** As a provider names a file that code has made. */
export const MADE_FILE = /^file_[\w-]{1,200}$/;

/** Only in results of the provider's own tools: what another tool returns may name the file of anybody. */
export function madeFiles(blocks: readonly unknown[]): string[] {
  const results = blocks
    .map(membersOf)
    .filter(({ type }) => /^(?:bash_)?code_execution_tool_result$/.test(String(type)));
  const outputs = results.map(({ content }) => membersOf(content).content).filter(Array.isArray);
  const ids = outputs.flat().map((output) => membersOf(output).file_id);
  return ids.filter((id): id is string => typeof id === 'string' && MADE_FILE.test(id)).slice(0, MAX_IDS);
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  (value ?? {}) as Readonly<Record<string, unknown>>;
