/** A column of a table: what it shows, where it goes on a phone, and how it orders the rows. */
import type { ReactNode } from 'react';

export interface Column<T> {
  /** In English: it is also the name of the column in addresses. The table translates it. */
  readonly head: string;
  readonly cell: (row: T) => ReactNode;
  /** `grow` takes the free width and is cut; `prose` may have several lines; `actions` are buttons at the right end. */
  readonly kind?: 'text' | 'number' | 'grow' | 'prose' | 'actions';
  /**
   * `title` is the first line of the card, `side` its right end, `line` (default) the second line; `label` shows the
   * head too.
   */
  readonly phone?: 'title' | 'side' | 'line' | 'label' | 'hide';
  /** The amount at the end of the cell: points of all rows stand below one another, and it orders the rows. */
  readonly amount?: (row: T) => string | null | undefined;
  /** Orders the rows where `cell` shows no plain text. */
  readonly value?: (row: T) => string | number | null | undefined;
  /** The name of this order in the API, for lists in pages. */
  readonly sort?: string;
  /** The API has this order only with the largest first. */
  readonly isLargestFirst?: true;
  /** Stays in view at the right end. */
  readonly isPinned?: true;
  /** Hidden until the reader chooses it. */
  readonly isExtra?: true;
}
