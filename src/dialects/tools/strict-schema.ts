/** The strict-mode check of OpenAI: every object is closed and lists all its properties as required. */
import { isObject, maybeList, maybeObject } from '../wire/read.ts';

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
