/** The events of a stored response: each item in one piece, in order, then the last event. */
import { sse } from '../../core/index.ts';
import type { StoredContent } from './turn-text.ts';

/**
 * Those after the number that a reader has, as a stream.
 * The last event keeps its number, so that a reader of single deltas gets it too.
 */
export function eventsAfter(content: Pick<StoredContent, 'response' | 'lastEvent'>, after: number): string {
  const missing = eventsOf(content).filter(({ sequence_number }) => sequence_number > after);
  return missing.map((event) => sse(JSON.stringify(event), event.type)).join('');
}

export function eventsOf({ response, lastEvent = 0 }: Pick<StoredContent, 'response' | 'lastEvent'>) {
  const started = { ...response, status: 'in_progress', output: [], usage: null };
  const items: unknown[] = Array.isArray(response.output) ? response.output : [];
  const events = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    ...items.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item },
      { type: 'response.output_item.done', output_index, item },
    ]),
  ];
  const last = { type: `response.${typeOfEnd(response.status)}`, response };
  return [
    ...events.map((event, sequence_number) => ({ ...event, sequence_number })),
    { ...last, sequence_number: Math.max(events.length, lastEvent) },
  ];
}

/** The word in the last event of a stream. No event of its own says that a response was cancelled. */
export const typeOfEnd = (status: unknown): 'completed' | 'incomplete' | 'failed' =>
  status === 'completed' || status === 'failed' ? status : 'incomplete';
