/** The schemas of the SDKs' types, which `npm run gen -- schemas` writes to test/schemas. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Dialect } from '../../src/rules/index.ts';
import type { JsonSchema, Resolve } from './json-schema.ts';

export type Subject = 'request' | 'reply' | 'event' | 'config';

/** `config` only for the dialect whose SDK has one. */
interface SdkSchemas extends Readonly<Record<Subject, JsonSchema>> {
  readonly definitions: Readonly<Record<string, JsonSchema>>;
}

/** `npm run release -- news` names the folder of those of newer SDKs. */
const FOLDER = process.env.SDK_SCHEMAS ?? fileURLToPath(new URL('../schemas', import.meta.url));

const loaded = new Map<Dialect, SdkSchemas>();

export function sdkSchemas(dialect: Dialect): SdkSchemas {
  let schemas = loaded.get(dialect);
  if (!schemas) {
    schemas = JSON.parse(readFileSync(join(FOLDER, `${dialect}.json`), 'utf8')) as SdkSchemas;
    loaded.set(dialect, schemas);
  }
  return schemas;
}

/** What providers keep for callers, by its name in the reference. */
export const sdkObjects = () =>
  JSON.parse(readFileSync(join(FOLDER, 'objects.json'), 'utf8')) as Readonly<Record<string, JsonSchema>> &
    Pick<SdkSchemas, 'definitions'>;

const REF_PREFIX = '#/definitions/';

export const resolverOf = (dialect: Dialect, definitions = sdkSchemas(dialect).definitions): Resolve => {
  return (ref) => definitions[decodeURIComponent(ref.slice(REF_PREFIX.length))] ?? false;
};
