import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonSchema } from '../../../test/support/json-schema.ts';
import { sdkObjects } from '../../../test/support/sdk-schemas.ts';
import { INFERENCE_SCHEMAS } from '../inference-schemas.ts';

interface Keywords {
  readonly $ref?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** The objects that a value of the schema can be, or can have as items. */
function objectsIn(schema: JsonSchema | undefined, resolve: (name: string) => JsonSchema): Keywords[] {
  if (schema === undefined || typeof schema === 'boolean') return [];
  const { $ref, anyOf = [], allOf = [], items, ...own } = schema as Keywords;
  const inner = [...anyOf, ...allOf, items, $ref === undefined ? undefined : resolve(nameIn($ref))];
  return [...(own.properties ? [own] : []), ...inner.flatMap((part) => objectsIn(part, resolve))];
}
const nameIn = (ref: string): string => decodeURIComponent(ref.split('/').at(-1) ?? '');

const sdk = sdkObjects();
const inReference = (name: string): JsonSchema => INFERENCE_SCHEMAS[name] ?? false;
const inSdk = (name: string): JsonSchema => sdk.definitions[name] ?? false;

/** Throws on a member that no form of the SDK has. */
function compare(own: JsonSchema, theirs: readonly JsonSchema[], at: string): void {
  const forms = theirs.flatMap((schema) => objectsIn(schema, inSdk));
  if (forms.length === 0) return;
  for (const { properties = {} } of objectsIn(own, inReference))
    for (const [name, member] of Object.entries(properties)) {
      const found = forms.map((form) => form.properties?.[name]).filter((schema) => schema !== undefined);
      assert.ok(found.length > 0, `${at}.${name} is unknown to the SDK`);
      compare(member, found, `${at}.${name}`);
    }
}

for (const name of Object.keys(sdk).filter((key) => /^[A-Z]/.test(key)))
  test(`the reference names only members that the SDK has, in ${name}`, () => {
    const [own, theirs] = [inReference(name), sdk[name] ?? false];
    compare(own, [theirs], name);
    const [form] = objectsIn(theirs, inSdk);
    for (const member of (own as Keywords).required ?? assert.fail(`${name} is not in the reference`))
      assert.ok(form?.required?.includes(member), `${member} is optional in the SDK`);
  });
