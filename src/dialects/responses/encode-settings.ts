/** Text format and reasoning on the way out: upstream requests, and the echo in answers. */
import type { Capabilities } from '../../rules/index.ts';
import type { Effort, HubFormat, HubReasoning, JsonObject } from '../hub/types.ts';
import { isStrict } from '../tools/strict-schema.ts';
import { effortOfBudget, nearestEffort } from '../wire/efforts.ts';
import { compact } from '../wire/read.ts';

/** Strict only where the client said so, or where the schema would pass the strict check anyway. */
export function encodeFormat(format: HubFormat): JsonObject {
  if (format.kind === 'text') return { type: 'text' };
  if (format.kind === 'json') return { type: 'json_object' };
  const { schema, description, strict = isStrict(schema) } = format;
  const name = (format.name ?? '').replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'response';
  return compact({ type: 'json_schema', name, schema, strict, description });
}

/** Undefined when nothing is to be said: the model's own default. */
export function encodeReasoning(reasoning: HubReasoning, capabilities: Capabilities): JsonObject | undefined {
  const wanted = wantedEffort(reasoning);
  const effort = wanted && nearestEffort(wanted, capabilities.efforts);
  const shown = reasoning.show === 'summary' && reasoning.mode !== 'off' && capabilities.efforts.length > 0;
  const summary = shown ? (reasoning.style ?? 'auto') : undefined;
  return effort === undefined && summary === undefined ? undefined : compact({ effort, summary });
}

function wantedEffort({ mode, effort, budget = 0 }: HubReasoning): Effort | undefined {
  if (mode === 'off') return 'none';
  if (effort !== undefined) return effort;
  if (mode === 'between_tools') return 'low';
  return mode === 'budget' ? effortOfBudget(budget) : undefined;
}
