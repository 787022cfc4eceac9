/** What is written as text for servers that have no field for it. */
import type { Capabilities } from '../../rules/index.ts';
import type { HubFormat, HubPart } from '../hub/types.ts';

export function asText(part: HubPart): string | undefined {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text;
    case 'json':
      return JSON.stringify(part.value);
    case 'search_result':
      return [`${part.title} (${part.source})`, ...part.texts].join('\n');
    case 'file':
      if (part.source.kind !== 'text') return undefined;
      return [part.title, part.context, part.source.text].filter((line) => line).join('\n');
    default:
      return undefined;
  }
}

/** Asks in words for what the server has no field for. */
export function formatInstruction(format: HubFormat, schemaFormat: Capabilities['schemaFormat']): string | undefined {
  if (format.kind === 'json') return schemaFormat === 'none' ? 'Reply with one JSON object only.' : undefined;
  if (format.kind === 'text' || schemaFormat === 'json_schema') return undefined;
  return `Reply with one JSON object only, which matches this JSON Schema:\n${JSON.stringify(format.schema)}`;
}
