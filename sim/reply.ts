/** The reply of the simulated model, before a dialect gives it its form. Types only. */
import type { Tool } from './neutral-request.ts';

export interface PlannedCall {
  tool: Tool;
  args: string;
}

export interface Reply {
  thoughts: string;
  text: string;
  calls: PlannedCall[];
  /** The model declines. With `blocked` the provider's filter does, before the model runs. */
  refusal?: string;
  blocked?: boolean;
  stop: 'end' | 'length' | 'sequence' | 'tool' | 'refusal';
  stopSequence?: string;
}
