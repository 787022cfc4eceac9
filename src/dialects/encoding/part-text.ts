import type { HubPart } from '../hub/types.ts';

/** Returns the part as text; undefined for media. */
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
