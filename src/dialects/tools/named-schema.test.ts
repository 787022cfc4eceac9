import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedSchema } from './schemas.ts';

const described = (description: string | undefined, own: string | undefined): unknown =>
  namedSchema({
    kind: 'schema',
    schema: { type: 'object', ...(own !== undefined && { description: own }) },
    ...(description !== undefined && { description }),
  }).description;

test('the description of a format stays beside that of its schema', () => {
  assert.equal(described('of the format', undefined), 'of the format');
  assert.equal(described(undefined, 'of the schema'), 'of the schema');
  assert.equal(described('of the format', 'of the schema'), 'of the format\n\nof the schema');
  assert.equal(described('the same', 'the same'), 'the same');
});
