/** The schema of a reply for providers that have no field for its name and description; the model still reads them. */
import type { HubFormat, JsonObject } from '../hub/types.ts';
import { isObject, maybeList, maybeObject } from '../wire/read.ts';

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

const MAX_DEPTH = 32;

export function isStrict(schema: unknown, depth = 0): boolean {
  if (!isObject(schema) || depth > MAX_DEPTH) return false;
  const properties = maybeObject(schema.properties);
  const required = maybeList(schema.required);
  const isClosed =
    schema.additionalProperties === false && Object.keys(properties).every((name) => required.includes(name));
  if ((schema.type === 'object' || isObject(schema.properties)) && !isClosed) return false;
  const subschemas = [
    ...Object.values(properties),
    ...Object.values(maybeObject(schema.$defs)),
    ...maybeList(schema.anyOf),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return subschemas.every((one) => isStrict(one, depth + 1));
}
