/** The events of a stored response: each item in one piece, in order, then the last event. */
import type { StoredContent } from './turn-text.ts';

export interface StoredEvent {
  readonly type: string;
  readonly sequence_number: number;
}

/** Those after the number that a reader has. The last event keeps its number, so that a reader of single deltas gets it too. */
export function eventsAfter({ response, lastEvent = 0 }: StoredContent, after: number): StoredEvent[] {
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
  ].filter(({ sequence_number }) => sequence_number > after);
}

/** The word in the last event of a stream. No event of its own says that a response was cancelled. */
export const typeOfEnd = (status: unknown): 'completed' | 'incomplete' | 'failed' =>
  status === 'completed' || status === 'failed' ? status : 'incomplete';
