/** Our own formats as JSON Schema: the zod schemas that requests are read with. */
import { z } from 'zod';
import type { Schema } from './schema.ts';

/** Query parameters and their descriptions, as docs/endpoints.md lists them too. */
export function queryParameters(query: z.ZodObject) {
  const { properties, required = [] } = jsonSchemaOf(query) as {
    readonly properties: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description = '', ...schema }]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    description: String(description),
    schema,
  }));
}

/** `input`: as a client sends it, before zod transforms the values. */
export function jsonSchemaOf(schema: z.ZodType): Schema {
  const { $schema: _, ...document } = z.toJSONSchema(schema, {
    io: 'input',
    // The formats date-time and email come with a long regular expression that adds nothing.
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  return document;
}
