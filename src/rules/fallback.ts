/**
 * Numbers of the fallback: lines of other groups that take a call while every account of its own group is out (ADR 20).
 */
import { type ConvertCell, type InferenceOperation, inferenceRow, type ServedCell } from './endpoints.ts';
import type { Style } from './groups.ts';

export const FALLBACK = {
  /** That one line may name. */
  lines: 4,
  /** Accounts that one call tries, over all groups. `FAILOVER.attempts` holds within each. */
  attempts: 6,
  /** No attempt begins on a further line after this time. */
  withinMs: 150_000,
  /**
   * How long the first byte is awaited while another line can take the call. A whole response has none until all of it
   * is written.
   */
  firstByteMs: { stream: 30_000, unary: 120_000 },
  /**
   * A whole response that takes as long as the first byte of a stream is given up when the circuit of its account
   * opens; asked so often.
   */
  circuitCheckMs: 5_000,
} as const;

/** Of requests: `none` keeps the call in its own group. Of responses: the line that served the call. */
export const FALLBACK_HEADER = 'x-gateway-fallback';

/**
 * Operations that can fall back to another group. Not vectors, which differ by model, pictures, or what one provider
 * holds.
 */
const FALLING_BACK: ReadonlySet<InferenceOperation> = new Set([
  'messages.create',
  'chat.create',
  'responses.create',
  'generate.create',
  'generate.stream',
]);

export const mayFallBack = (operation: InferenceOperation): boolean => FALLING_BACK.has(operation);

/**
 * Keys of these groups cannot send such requests by themselves (G 4.1), but a line of such a group may take over one.
 */
const GENERATE_CELLS: Readonly<Record<Style, ConvertCell | undefined>> = {
  responses: { kind: 'convert', to: 'responses', otherwise: ['chat', 'converse'] },
  messages: { kind: 'convert', to: 'messages', otherwise: ['converse'] },
  'generate-content': undefined,
};

/** How a line of a group with this style serves the operation; undefined when it cannot. */
export function fallbackCell(operation: InferenceOperation, style: Style): ServedCell | undefined {
  if (!mayFallBack(operation)) return undefined;
  const cell = inferenceRow(operation).groups[style];
  if (cell.kind === 'refuse') return GENERATE_CELLS[style];
  return cell.kind === 'own' ? undefined : cell;
}
