/**
 * Faults of the simulated Veo: those that a test queues for coming calls, and those that the prompt of a request asks
 * for.
 */

export type VeoCall = 'create' | 'poll' | 'download';

/** `lost`: the call takes effect, and its answer never comes. */
export interface VeoFault {
  readonly on: VeoCall;
  readonly kind: 'lost' | 'reset' | 'html' | 'error' | 'error_in_success' | 'no_name';
  readonly status?: number;
  readonly code?: string;
  readonly message?: string;
}

/**
 * How an operation ends: `[[rai]]`, `[[empty]]`, `[[error=8]]` and `[[stuck]]` in the prompt; `[[blocked]]` refuses the
 * request.
 */
export interface VeoPlan {
  readonly ending: 'video' | 'rai' | 'empty' | 'blocked' | 'stuck' | { readonly error: number };
}

export function planIn(prompt: string): VeoPlan {
  const [, word, number] = /\[\[(rai|empty|blocked|stuck|error=(\d+))\]\]/.exec(prompt) ?? [];
  if (number !== undefined) return { ending: { error: Number(number) } };
  return { ending: (word ?? 'video') as 'video' | 'rai' | 'empty' | 'blocked' | 'stuck' };
}
