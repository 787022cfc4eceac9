/** The request field `context_management`. Only its compaction edit has a counterpart in other dialects. */
import type { JsonObject } from '../../hub/types.ts';
import { isGiven, isObject, maybeCount, maybeList, maybeObject } from '../../wire/read.ts';

interface ContextManagement {
  /** Input tokens above which the provider summarises earlier turns. */
  readonly compactAt?: number;
  /** The field contains edits or options that the hub cannot express. */
  readonly hasOtherEdits: boolean;
}

const COMPACT = /^compact_\d{8}$/;
/** Default trigger of the provider's API, in input tokens. */
const DEFAULT_TRIGGER = 150_000;

export function decodeContextManagement(value: unknown): ContextManagement {
  if (!isGiven(value)) return { hasOtherEdits: false };
  const edits = maybeList(maybeObject(value).edits);
  const compact = edits.find(isCompact);
  const hasOtherEdits =
    edits.length !== 1 || !compact || compact.pause_after_compaction === true || isGiven(compact.instructions);
  if (!compact) return { hasOtherEdits };
  return { compactAt: maybeCount(maybeObject(compact.trigger).value) ?? DEFAULT_TRIGGER, hasOtherEdits };
}

const isCompact = (edit: unknown): edit is JsonObject => isObject(edit) && COMPACT.test(String(edit.type));
