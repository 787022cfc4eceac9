/**
 * Statements that may run twice, decided by their text: one that calls a function which is not known here counts as a
 * change.
 */

/** The beginning of a transaction is nothing without what follows. */
const BEGINS = /^(?:begin|start transaction)\b/;
const READS = /^\s*(?:select|with)\b/;
/** `select into` creates a table; `for update` takes locks. */
const CHANGES = /\b(?:insert|update|delete|merge|into|share|nextval)\b/i;
/** Whatever is followed by a bracket, with its quotes and its schema. */
const CALLS = /(["\w.]+)\s*\(/g;

const KEYWORDS =
  /^(?:all|and|any|array|as|by|case|distinct|else|except|exists|filter|from|group|having|in|intersect|join|lateral|limit|materialized|not|on|or|over|row|select|sets|some|then|union|using|values|when|where|within)$/i;
/** Types with a length, and functions without an effect. */
const PURE =
  /^(?:array_agg|avg|bool_and|bool_or|coalesce|count|date_trunc|extract|generate_series|greatest|json_agg|json_build_object|jsonb_agg|jsonb_build_object|least|length|lower|max|min|now|nullif|numeric|round|row_number|string_agg|substring|sum|to_regclass|unnest|upper|varchar)$/i;

export const isRepeatable = (statement: string): boolean =>
  BEGINS.test(statement) ||
  (READS.test(statement) &&
    !CHANGES.test(statement) &&
    [...statement.matchAll(CALLS)].every(([, name = '']) => KEYWORDS.test(name) || PURE.test(name)));
