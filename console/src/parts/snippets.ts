/** Commands for clients of a key, from the table of clients that the guides show, too. */

import type { GroupStyle } from '../../../src/schemas/index.ts';
import { CLIENTS, type ClientInput, type ClientRow, stylesOf } from '../../clients/index.ts';

export interface ClientSnippet {
  readonly name: string;
  /** Undefined when a key of this style cannot serve the client. */
  readonly text: string | undefined;
  /** Styles whose keys can. */
  readonly styles: readonly GroupStyle[];
}

export const snippetsFor = (input: ClientInput): ClientSnippet[] =>
  Object.values<ClientRow>(CLIENTS).map((client) => {
    const styles = stylesOf(client);
    const text = styles.includes(input.style) ? client.lines(input) + (client.start?.(input) ?? '') : undefined;
    return { name: client.name, styles, text };
  });
