/** The content of a stored response and its JSON text. Pure: a thread can read it. */
import { parseJson } from '../../core/index.ts';

export interface StoredContent {
  /**
   * Input items that the request added, as the client sent them.
   * In rows without `added`, with those of all earlier turns.
   */
  readonly input: readonly unknown[];
  /** The response as the client received it. */
  readonly response: Readonly<Record<string, unknown>> & { readonly output?: unknown };
  /** Number of the last event of a background response, so that a reader who has earlier ones gets it. */
  readonly lastEvent?: number;
}

/** Content to be stored. `input`: the JSON text of its items, which is made where the request is decoded. */
export interface StoringContent extends Omit<StoredContent, 'input'> {
  readonly input: string;
}

/**
 * `added`, not `input`: a server that does not know turns fails on it, instead of continuing without what came before.
 */
export const textOfContent = ({ input, ...content }: StoringContent): string =>
  `{"added":${input},${JSON.stringify(content).slice(1)}`;

export function contentOfText(text: string): StoredContent {
  const { added, ...content } = parseJson(text) as StoredContent & { readonly added?: readonly unknown[] };
  return added ? { ...content, input: added } : content;
}

/** The background response has no result yet. */
export const isRunning = ({ response }: StoredContent): boolean =>
  response.status === 'queued' || response.status === 'in_progress';

export const outputOf = ({ response }: Pick<StoredContent, 'response'>): readonly unknown[] =>
  Array.isArray(response.output) ? response.output : [];

export const idOfItem = (item: unknown): string | undefined => {
  const { id } = (item ?? {}) as { id?: unknown };
  return typeof id === 'string' ? id : undefined;
};
