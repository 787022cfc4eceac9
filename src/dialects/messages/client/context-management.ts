/** What a client wants the provider to do with a conversation that grows too long. Only a summary has a counterpart elsewhere. */
import type { JsonObject } from '../../hub/types.ts';
import { given, isObject, maybeCount, maybeList, maybeObject } from '../../wire/read.ts';

export interface ContextManagement {
  /** Tokens of input from which on the provider summarises what came before. */
  readonly compactAt?: number;
  /** It asks for more than that. */
  readonly hasOthers: boolean;
}

const COMPACT = /^compact_\d{8}$/;
/** What the provider's own API takes when nothing is said. */
const DEFAULT_TRIGGER = 150_000;

export function decodeContextManagement(value: unknown): ContextManagement {
  if (!given(value)) return { hasOthers: false };
  const edits = maybeList(maybeObject(value).edits);
  const compact = edits.find(isCompact);
  const hasOthers =
    edits.length !== 1 || !compact || compact.pause_after_compaction === true || given(compact.instructions);
  if (!compact) return { hasOthers };
  return { compactAt: maybeCount(maybeObject(compact.trigger).value) ?? DEFAULT_TRIGGER, hasOthers };
}

const isCompact = (edit: unknown): edit is JsonObject => isObject(edit) && COMPACT.test(String(edit.type));
