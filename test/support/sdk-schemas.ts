/** The schemas of the SDKs' types, which `npm run gen -- schemas` writes to test/schemas. */
import { readFileSync } from 'node:fs';
import type { Dialect } from '../../src/rules/index.ts';
import type { JsonSchema, Resolve } from './json-schema.ts';

export type Subject = 'request' | 'reply' | 'event' | 'config';

/** `config` only for the dialect whose SDK has one. */
interface SdkSchemas extends Readonly<Record<Subject, JsonSchema>> {
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}

const loaded = new Map<Dialect, SdkSchemas>();

export function sdkSchemas(dialect: Dialect): SdkSchemas {
  let schemas = loaded.get(dialect);
  if (!schemas) {
    const file = new URL(`../schemas/${dialect}.json`, import.meta.url);
    schemas = JSON.parse(readFileSync(file, 'utf8')) as SdkSchemas;
    loaded.set(dialect, schemas);
  }
  return schemas;
}

const REF_PREFIX = '#/definitions/';

export const resolverOf = (dialect: Dialect, definitions = sdkSchemas(dialect).definitions): Resolve => {
  return (ref) => definitions[decodeURIComponent(ref.slice(REF_PREFIX.length))] ?? false;
};
