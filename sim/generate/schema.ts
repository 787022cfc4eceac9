/** The schema subset that Google accepts. */
import { invalid } from '../errors.ts';
import { isObject } from '../json.ts';

// `parameters` and `responseSchema` are a proto message, not JSON Schema: one unknown keyword fails
// the request.
const KNOWN = new Set(
  (
    'type format title description nullable enum maxItems minItems properties required minProperties maxProperties ' +
    'minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum'
  ).split(' '),
);

export function checkSchema(schema: unknown, path: string): void {
  if (!isObject(schema)) return;
  for (const key of Object.keys(schema)) {
    const camel = key.replace(/_([a-z])/g, (_all, letter) => String(letter).toUpperCase());
    if (!KNOWN.has(camel)) {
      throw invalid(`Invalid JSON payload received. Unknown name "${key}" at '${path}': Cannot find field.`);
    }
  }
  if (isObject(schema.properties)) {
    for (const [name, value] of Object.entries(schema.properties)) checkSchema(value, `${path}.properties[${name}]`);
  }
  checkSchema(schema.items, `${path}.items`);
  if (Array.isArray(schema.anyOf)) {
    for (const [index, branch] of schema.anyOf.entries()) checkSchema(branch, `${path}.any_of[${index}]`);
  }
}
