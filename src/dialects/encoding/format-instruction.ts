import type { Capabilities } from '../../rules/index.ts';
import type { HubFormat } from '../hub/types.ts';

/** Asks in words for what the server has no field for. */
export function formatInstruction(format: HubFormat, schemaFormat: Capabilities['schemaFormat']): string | undefined {
  if (format.kind === 'json') return schemaFormat === 'none' ? 'Reply with one JSON object only.' : undefined;
  if (format.kind === 'text' || schemaFormat === 'json_schema') return undefined;
  return `Reply with one JSON object only, which matches this JSON Schema:\n${JSON.stringify(format.schema)}`;
}
