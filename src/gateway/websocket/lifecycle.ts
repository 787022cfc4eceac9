/** Events that begin or end a response on a WebSocket. All other events only pass through. */
import { parseJson } from '../../core/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import { usageOfResponse } from '../native/searches.ts';

export interface LifecycleEvent {
  readonly type: string;
  readonly stream_id?: string;
  readonly status?: number;
  readonly steer?: { readonly id?: string };
  readonly response?: Readonly<Record<string, unknown>> & {
    readonly id?: string;
    readonly store?: boolean;
  };
}

/** Quotes inside a string are escaped, so that no text of a model can match. */
const LIFECYCLE =
  /"type"\s*:\s*"(?:error|response\.(?:created|completed|incomplete|failed|cancelled|steer\.\w+|inject\.\w+))"/;
const TERMINAL = /^response\.(?:completed|incomplete|failed|cancelled)$/;

export const isTerminalEvent = ({ type }: LifecycleEvent): boolean => TERMINAL.test(type);
export const isSuccessEvent = ({ type }: LifecycleEvent): boolean =>
  type === 'response.completed' || type === 'response.incomplete';

export function parseLifecycleEvent(text: string): LifecycleEvent | undefined {
  if (!LIFECYCLE.test(text)) return undefined;
  try {
    const event = parseJson(text) as LifecycleEvent | null;
    return typeof event?.type === 'string' ? event : undefined;
  } catch {
    return undefined;
  }
}

/** What the response costs: nothing when it failed (ADR 13). */
export const usageOf = ({ type, response }: LifecycleEvent): HubUsage | undefined =>
  type === 'response.failed' ? undefined : usageOfResponse(response);
