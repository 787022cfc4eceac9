/** Text format and reasoning on the way out: upstream requests, and the echo in answers. */
import type { Capabilities } from '../../rules/index.ts';
import { EFFORTS, type Effort, type HubFormat, type HubReasoning, type JsonObject } from '../hub.ts';
import { compact, isObject, maybeList, maybeObject } from '../read.ts';

/** Strict only where the client said so, or where the schema would pass the strict check anyway. */
export function encodeFormat(format: HubFormat): JsonObject {
  if (format.kind === 'text') return { type: 'text' };
  if (format.kind === 'json') return { type: 'json_object' };
  const { schema, description, strict = isStrict(schema) } = format;
  const name = (format.name ?? '').replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'response';
  return compact({ type: 'json_schema', name, schema, strict, description });
}

/** Every object lists all of its properties as required and allows no others. */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (!isObject(schema)) return true;
  const properties = Object.keys(maybeObject(schema.properties));
  const required = maybeList(schema.required);
  const isObjectSchema = schema.type === 'object' || properties.length > 0;
  if (
    isObjectSchema &&
    (schema.additionalProperties !== false || !properties.every((name) => required.includes(name)))
  ) {
    return false;
  }
  return Object.values(schema).every(isStrict);
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
  if (mode !== 'budget') return undefined;
  // Tokens to effort: where the providers' own tables of the two put the steps.
  return budget < 4096 ? 'low' : budget < 16_384 ? 'medium' : 'high';
}

/** The most that is not more than wanted, else the least there is. `none` is never chosen for someone who wants thinking. */
export function nearestEffort(wanted: Effort, offered: readonly string[]): Effort | undefined {
  const known = EFFORTS.filter((effort) => offered.includes(effort));
  if (known.includes(wanted)) return wanted;
  const thinking = known.filter((effort) => effort !== 'none');
  const limit = EFFORTS.indexOf(wanted);
  return thinking.findLast((effort) => EFFORTS.indexOf(effort) <= limit) ?? thinking[0];
}
