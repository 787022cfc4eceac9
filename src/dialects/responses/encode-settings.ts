/** Encoder of text format and reasoning, for upstream requests and for the echo in responses. */
import type { Capabilities } from '../../rules/index.ts';
import type { HubFormat, HubReasoning, JsonObject } from '../hub/types.ts';
import { isStrict } from '../tools/schemas.ts';
import { effortOf, nearestEffort } from '../wire/efforts.ts';
import { compact } from '../wire/read.ts';

/** Strict only if the client asks for it, or if the schema meets the strict rules anyway. */
export function encodeFormat(format: HubFormat): JsonObject {
  if (format.kind === 'text') return { type: 'text' };
  if (format.kind === 'json') return { type: 'json_object' };
  const { schema, description, strict = isStrict(schema) } = format;
  const name = (format.name ?? '').replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'response';
  return compact({ type: 'json_schema', name, schema, strict, description });
}

/** The format in a response object, where no member is missing. */
export const echoFormat = (format: HubFormat): JsonObject =>
  format.kind === 'schema' ? { description: null, ...encodeFormat(format) } : encodeFormat(format);

/** Returns undefined to use the model's default. */
export function encodeReasoning(reasoning: HubReasoning, capabilities: Capabilities): JsonObject | undefined {
  const requested = effortOf(reasoning);
  const effort = requested && nearestEffort(requested, capabilities.efforts);
  const canShow = capabilities.display && capabilities.efforts.length > 0;
  const hasSummary = reasoning.show === 'summary' && reasoning.mode !== 'off' && canShow;
  const summary = hasSummary ? (reasoning.style ?? 'auto') : undefined;
  return effort === undefined && summary === undefined ? undefined : compact({ effort, summary });
}
