/** The schema of a reply for providers that have no field for its name and description; the model still reads them. */
import type { HubFormat, JsonObject } from '../hub/types.ts';

export function namedSchema({ schema, name, description }: HubFormat & { kind: 'schema' }): JsonObject {
  const own = schema.description;
  const both =
    description !== undefined && typeof own === 'string' && own !== description
      ? `${description}\n\n${own}`
      : undefined;
  return {
    ...(name !== undefined && { title: name }),
    ...(description !== undefined && { description }),
    ...schema,
    ...(both !== undefined && { description: both }),
  };
}
