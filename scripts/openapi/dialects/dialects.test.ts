import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dialect } from '../../../src/rules/index.ts';
import type { JsonSchema, Resolve } from '../../../test/support/json-schema.ts';
import { violations } from '../../../test/support/json-schema.ts';
import { resolverOf, sdkSchemas } from '../../../test/support/sdk-schemas.ts';
import { CHAT } from './chat.ts';
import type { DialectSchemas } from './dialect.ts';
import { GENERATE } from './generate.ts';
import { MESSAGES } from './messages.ts';
import { RESPONSES } from './responses.ts';

const DIALECTS: Readonly<Record<Dialect, DialectSchemas>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
  generate: GENERATE,
};

interface Keywords {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

const resolved = (schema: JsonSchema, resolve: Resolve): Keywords => {
  const { $ref } = schema as Keywords;
  return $ref === undefined ? (schema as Keywords) : resolved(resolve($ref), resolve);
};

for (const [name, dialect] of Object.entries(DIALECTS)) {
  const sdk = sdkSchemas(name as Dialect);
  const resolve = resolverOf(name as Dialect);
  for (const [subject, described] of [
    ['request', dialect.schemas[dialect.request]],
    ['reply', dialect.schemas[dialect.reply]],
  ] as const)
    test(`the reference names only members that the SDK has, in a ${name} ${subject}`, () => {
      const own = described as Keywords;
      const { properties = {}, required = [] } = resolved(sdk[subject], resolve);
      for (const member of Object.keys(own.properties ?? {})) assert.ok(member in properties, member);
      for (const member of own.required ?? []) assert.ok(required.includes(member), `${member} is optional in the SDK`);
    });

  test(`the example of a ${name} reply fits its schema`, () => {
    const ownResolve: Resolve = (ref) => dialect.schemas[ref.split('/').at(-1) ?? ''] ?? false;
    assert.deepEqual(violations(dialect.schemas[dialect.reply] ?? false, dialect.replyExample, ownResolve), []);
  });
}
