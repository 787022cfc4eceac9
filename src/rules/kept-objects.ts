/** What callers keep under an id of its own, in one list: the view `kept_objects` has the rows. */
import { words } from './notation.ts';

export const KEPT_KINDS = words('file batch conversation cache container');
export type KeptKind = (typeof KEPT_KINDS)[number];
