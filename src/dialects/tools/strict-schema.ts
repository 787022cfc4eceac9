/** Whether a schema passes the strict check of the OpenAI family: every object is closed and lists all properties as required. */
import { isObject, maybeList, maybeObject } from '../wire/read.ts';

const MAX_DEPTH = 32;

export function isStrict(schema: unknown, depth = 0): boolean {
  if (!isObject(schema) || depth > MAX_DEPTH) return false;
  const properties = maybeObject(schema.properties);
  const required = maybeList(schema.required);
  const isClosed =
    schema.additionalProperties === false && Object.keys(properties).every((name) => required.includes(name));
  if ((schema.type === 'object' || isObject(schema.properties)) && !isClosed) return false;
  const inner = [
    ...Object.values(properties),
    ...Object.values(maybeObject(schema.$defs)),
    ...maybeList(schema.anyOf),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return inner.every((one) => isStrict(one, depth + 1));
}
